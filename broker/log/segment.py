"""One segment: a `.log` file, and what is known about the batches in it."""

from __future__ import annotations

from broker.disk.interface import ColdReadError, Disk, File
from broker.log import file_names
from broker.log.offset_index import ENTRY_SIZE as OFFSET_ENTRY_SIZE
from broker.log.offset_index import CorruptIndexError, OffsetIndex
from broker.log.time_index import ENTRY_SIZE as TIME_ENTRY_SIZE
from broker.log.time_index import TimeIndex
from broker.log.txn_index import TxnIndex
from broker.protocol.batch import (
    EXTENT_SIZE,
    HEADER_SIZE,
    SMALLEST_LENGTH,
    BatchHeader,
    CorruptBatchError,
    read_extent,
    read_header,
)

WALK_SIZE = 4096
"""A walk over headers reads this much at a time: small batches come many in one read."""

RECENT_COUNT = 128


class FailedSyncError(OSError):
    """Whatever its reason: nobody knows which bytes are on the device."""


class FailedReadError(OSError):
    """A read needs no room, so it is never a lack of room, whatever error number the disk gave."""


def failed_read(problem: OSError) -> FailedReadError:
    failure = FailedReadError(problem.errno, problem.strerror, problem.filename)
    failure.__cause__ = problem
    return failure


async def sync(file: File) -> None:
    try:
        await file.fdatasync()
    except OSError as problem:
        raise FailedSyncError(problem.errno, problem.strerror, file.path) from problem


class Segment:
    """`end_offset` and `size` are exclusive ends: the next batch gets this offset and position."""

    __slots__ = (
        "_bytes_since_entry",
        "_older",
        "_recent",
        "aborted",
        "base_offset",
        "damage",
        "directory",
        "end_offset",
        "file",
        "first_append_ms",
        "index_bytes",
        "largest_timestamp",
        "offset_of_largest_timestamp",
        "offsets",
        "sealed",
        "size",
        "times",
    )

    def __init__(self, directory: str, base_offset: int, file: File) -> None:
        self.directory = directory
        self.base_offset = base_offset
        self.file = file
        self.sealed = False  # synced, and its index files are written
        self.damage: str | None = None  # why the batches behind `size` cannot be read
        self.first_append_ms = -1
        self.reset()
        self.size = file.size

    def reset(self) -> None:
        """Forgets all batches, before a scan finds them again."""
        self.size = 0
        self.end_offset = self.base_offset
        self.largest_timestamp = -1
        self.offset_of_largest_timestamp = self.base_offset
        self.offsets = OffsetIndex()
        self.times = TimeIndex()
        self.aborted = TxnIndex()
        self._bytes_since_entry = 0
        self.index_bytes = 0
        # Where the latest batches begin: readers at the tail need no walk. Two generations.
        self._recent: dict[int, int] = {}
        self._older: dict[int, int] = {}

    @classmethod
    async def create(cls, disk: Disk, directory: str, base_offset: int) -> Segment:
        path = file_names.segment_path(directory, base_offset, file_names.LOG)
        return cls(directory, base_offset, await disk.create(path))

    @classmethod
    async def open(cls, disk: Disk, directory: str, base_offset: int) -> Segment:
        path = file_names.segment_path(directory, base_offset, file_names.LOG)
        return cls(directory, base_offset, await disk.open(path))

    def path(self, kind: str) -> str:
        return file_names.segment_path(self.directory, self.base_offset, kind)

    def note(self, header: BatchHeader, base_offset: int, interval_bytes: int) -> None:
        """A batch stands at `size` now. The header may not know its offset yet."""
        last_offset = base_offset + header.last_offset_delta
        position = self.size
        if header.max_timestamp > self.largest_timestamp:
            self.largest_timestamp = header.max_timestamp
            self.offset_of_largest_timestamp = last_offset
        if self._bytes_since_entry > interval_bytes:
            self.offsets.add(last_offset - self.base_offset, position)
            self._add_time_entry()
            self._bytes_since_entry = 0
            self._count_index_bytes()
        size = header.length + 12
        self._bytes_since_entry += size
        self.size = position + size
        self.end_offset = last_offset + 1
        recent = self._recent
        recent[base_offset] = position
        if len(recent) >= RECENT_COUNT:
            self._older = recent
            self._recent = {}

    def _add_time_entry(self) -> None:
        self.times.add(self.largest_timestamp, self.offset_of_largest_timestamp - self.base_offset)

    def _count_index_bytes(self) -> None:
        """Of the larger index file. One time entry more is written when the segment is sealed."""
        self.index_bytes = max(
            len(self.offsets) * OFFSET_ENTRY_SIZE, (len(self.times) + 1) * TIME_ENTRY_SIZE
        )

    def locate(self, offset: int) -> int:
        """The position of the first batch that reaches `offset`; `size` when none does."""
        if offset >= self.end_offset:
            return self.size
        position = self._recent.get(offset)
        if position is None:
            position = self._older.get(offset)
        if position is not None:
            return position
        position = self.offsets.floor(offset - self.base_offset)
        while position < self.size:
            chunk = self.read_hot(position, min(WALK_SIZE, self.size - position))
            at = 0
            while at + EXTENT_SIZE <= len(chunk):
                base_offset, length, delta = read_extent(chunk, at)
                if base_offset + delta >= offset:
                    return position + at
                if length < SMALLEST_LENGTH:
                    raise CorruptBatchError(
                        f"{self.file.path} has no batch at byte {position + at}"
                    )
                at += 12 + length
            position += at
            if not at or position > self.size:
                raise CorruptBatchError(f"{self.file.path} is cut off at byte {position}")
        return self.size

    def header_at(self, position: int) -> BatchHeader:
        return read_header(self.read_hot(position, HEADER_SIZE))

    def read_hot(self, position: int, length: int) -> bytes:
        if not self.file.is_hot(position, length):
            raise ColdReadError(self.file, position, length)
        return self.file.pread(length, position)

    def truncate(self, position: int, end_offset: int) -> None:
        """Cuts the file and the indexes; the largest timestamp must be found again by a scan."""
        self.file.truncate(position)
        self.size = position
        self.end_offset = end_offset
        self.offsets.truncate(position)
        self.times.truncate(end_offset - self.base_offset)
        self.aborted.truncate(end_offset)
        self._recent = {}
        self._older = {}
        self.sealed = False
        self._restore_largest_timestamp()

    def _restore_largest_timestamp(self) -> None:
        self._count_index_bytes()
        last = self.times.last
        if last is None:
            self.largest_timestamp, self.offset_of_largest_timestamp = -1, self.base_offset
        else:
            self.largest_timestamp = last[0]
            self.offset_of_largest_timestamp = self.base_offset + last[1]

    async def seal(self, disk: Disk) -> None:
        """Durable when it returns. The `.index` file comes last: it says that the log is synced."""
        await sync(self.file)
        self._add_time_entry()
        if self.aborted.entries:
            await disk.replace(self.path(file_names.TXN_INDEX), self.aborted.encode())
        else:
            await disk.delete(self.path(file_names.TXN_INDEX))
        await disk.replace(self.path(file_names.TIME_INDEX), self.times.encode())
        await disk.replace(self.path(file_names.OFFSET_INDEX), self.offsets.encode())
        self.sealed = True

    async def unseal(self, disk: Disk) -> None:
        """Before the first write: from now on the bytes may be newer than what is synced."""
        await disk.delete(self.path(file_names.OFFSET_INDEX))
        self.sealed = False

    async def load_indexes(self, disk: Disk) -> None:
        """Raises CorruptIndexError when a file is missing or cannot be true."""
        try:
            self.offsets = OffsetIndex.decode(
                await disk.read(self.path(file_names.OFFSET_INDEX)), self.size
            )
            self.times = TimeIndex.decode(await disk.read(self.path(file_names.TIME_INDEX)))
        except FileNotFoundError as missing:
            raise CorruptIndexError(f"{missing.filename} is missing") from missing
        try:
            self.aborted = TxnIndex.decode(await disk.read(self.path(file_names.TXN_INDEX)))
        except FileNotFoundError:
            self.aborted = TxnIndex()
        self._restore_largest_timestamp()

    async def unlink(self, disk: Disk) -> None:
        """The log first: without it the indexes are leftovers that the next start removes.

        The file stays readable until it is closed.
        """
        for kind in (file_names.LOG, *file_names.INDEXES):
            await disk.delete(self.path(kind))
