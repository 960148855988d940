"""A compacted segment takes the place of those it was made from, or a crash leaves these.

All new files are written and synced beside the old ones, as `.cleaned`. Then one `.swap` file is
put down that lists what remains to be done: from that moment on the swap is decided, and whoever
finds the list carries it out. Every step may be done twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from broker.disk.interface import Disk
from broker.log import checkpoints, file_names
from broker.log.segment import Segment

TAKE = "take"
"""`take X`: X.cleaned becomes X."""

DROP = "drop"
"""`drop X`: X is deleted."""


class CleanedSegment(Segment):
    """A segment under construction: its files have other names than they will have."""

    __slots__ = ()

    def path(self, kind: str) -> str:
        return super().path(kind) + file_names.CLEANED

    @classmethod
    async def begin(cls, disk: Disk, directory: str, base_offset: int) -> CleanedSegment:
        path = file_names.segment_path(directory, base_offset, file_names.LOG)
        await disk.delete(path + file_names.CLEANED)
        return cls(directory, base_offset, await disk.create(path + file_names.CLEANED))

    def as_segment(self) -> Segment:
        """Once the files have their final names. The open file is the same one."""
        segment = Segment(self.directory, self.base_offset, self.file)
        segment.file.path = segment.path(file_names.LOG)
        segment.offsets, segment.times, segment.aborted = self.offsets, self.times, self.aborted
        segment.largest_timestamp = self.largest_timestamp
        segment.offset_of_largest_timestamp = self.offset_of_largest_timestamp
        segment.sealed = True
        return segment


async def decide(disk: Disk, sources: Sequence[Segment], cleaned: CleanedSegment) -> None:
    """The point of no return. The cleaned segment is sealed, and nobody changes the sources."""
    steps: list[str] = []
    for kind in (file_names.LOG, *file_names.INDEXES):
        is_there = kind != file_names.TXN_INDEX or cleaned.aborted.entries
        steps.append(f"{TAKE if is_there else DROP} {_name(cleaned.base_offset, kind)}")
    for source in sources:
        if source.base_offset != cleaned.base_offset:
            for kind in (file_names.LOG, *file_names.INDEXES):
                steps.append(f"{DROP} {_name(source.base_offset, kind)}")
    await disk.replace(_swap_path(cleaned), checkpoints.encode(steps))


async def carry_out(disk: Disk, directory: str, swap_name: str) -> None:
    path = f"{directory}/{swap_name}"
    names = await disk.list(directory)
    for action, name in checkpoints.decode(await disk.read(path), path):
        if action == DROP and name in names:
            await disk.delete(f"{directory}/{name}")
        elif action == TAKE and name + file_names.CLEANED in names:
            await disk.rename(f"{directory}/{name}{file_names.CLEANED}", f"{directory}/{name}")
    await disk.delete(path)


async def finish_swaps(disk: Disk, directory: str) -> None:
    """To be called before a log's files are looked at: after it, no swap is half-done.

    A `.cleaned` file that is left was never decided about, and is deleted with other leftovers.
    """
    for name in await disk.list(directory):
        if name.endswith(file_names.SWAP):
            await carry_out(disk, directory, name)


async def discard(disk: Disk, cleaned: CleanedSegment) -> None:
    for kind in (file_names.LOG, *file_names.INDEXES):
        await disk.delete(cleaned.path(kind))


def swap_name(base_offset: int) -> str:
    return _name(base_offset, file_names.SWAP)


def _swap_path(cleaned: CleanedSegment) -> str:
    return f"{cleaned.directory}/{swap_name(cleaned.base_offset)}"


def _name(base_offset: int, kind: str) -> str:
    return file_names.segment_path("", base_offset, kind)[1:]
