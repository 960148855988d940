"""Snapshots of the metadata: a file of record batches, named after the offset that it ends at."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterator
from itertools import islice

from broker.disk.interface import Disk
from broker.log.breather import Breather
from broker.metadata.changes import Change
from broker.metadata.image import ConflictError, Image
from broker.protocol.batch import CorruptBatchError, iterate_headers, verify_crc
from broker.quorum.records import (
    change_batch,
    changes_of,
    is_snapshot_footer,
    snapshot_footer_batch,
)
from broker.raft.events import SnapshotId

_log = logging.getLogger(__name__)

_NAME = re.compile(r"^(\d{20})-(\d{10})\.checkpoint$")
_CHANGES_PER_BATCH = 100


class SnapshotCorruptError(Exception):
    """The file is not what was written. Starting without it would forget topics. For the user."""


class Snapshots:
    """Made by `find`. Only the newest one is kept."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self._directory = directory
        self.latest: SnapshotId | None = None
        self._storing = asyncio.Lock()

    @classmethod
    async def find(cls, disk: Disk, directory: str) -> Snapshots:
        found = cls(disk, directory)
        for name in await disk.list(directory):
            match = _NAME.match(name)
            if match is not None:
                snapshot_id = SnapshotId(int(match[1]), int(match[2]))
                if found.latest is None or snapshot_id.end_offset > found.latest.end_offset:
                    found.latest = snapshot_id
        return found

    async def write(self, image: Image, snapshot_id: SnapshotId, time_ms: int) -> None:
        """Of the image as it is now, however much it changes while this goes on."""
        content = bytearray()
        breather = Breather()
        for changes in _in_parts(image.copy().as_changes()):
            content += change_batch(changes, time_ms)
            await breather.pause()
        content += snapshot_footer_batch(time_ms)
        await self.store(snapshot_id, bytes(content))

    async def store(self, snapshot_id: SnapshotId, content: bytes) -> None:
        """Durable when it returns; then the older ones go.

        One that was fetched may come while this node's own is written: the newest one stays.
        """
        async with self._storing:
            if self.latest is not None and self.latest.end_offset >= snapshot_id.end_offset:
                return
            await self._disk.replace(self.path(snapshot_id), content)
            self.latest = snapshot_id
            for name in await self._disk.list(self._directory):
                if _NAME.match(name) and name < _name(snapshot_id):
                    await self._disk.delete(f"{self._directory}/{name}")

    async def read(self, snapshot_id: SnapshotId) -> bytes:
        """Raises FileNotFoundError when a newer one has taken its place."""
        return await self._disk.read(self.path(snapshot_id))

    async def load(self) -> Image:
        """The image of the newest one, or an empty one."""
        image = Image()
        if self.latest is not None:
            apply_snapshot(await self.read(self.latest), image, self.path(self.latest))
        return image

    def path(self, snapshot_id: SnapshotId) -> str:
        return f"{self._directory}/{_name(snapshot_id)}"


def apply_snapshot(content: bytes, image: Image, path: str) -> None:
    """Raises SnapshotCorruptError, also for one that was cut off between two batches."""
    records = memoryview(content)
    is_whole = False
    try:
        for position, header in iterate_headers(records):
            if not verify_crc(records, position, header):
                raise CorruptBatchError(f"the CRC of the batch at byte {position} does not match")
            batch = records[position : position + header.size]
            for change in changes_of(batch, header):
                image.apply(change)
            is_whole = is_snapshot_footer(batch, header)
        if not is_whole:
            raise CorruptBatchError("its end is missing")
    except (CorruptBatchError, ConflictError) as error:
        raise SnapshotCorruptError(f"{path} is damaged: {error}; restore it from a copy") from error


def _name(snapshot_id: SnapshotId) -> str:
    return f"{snapshot_id.end_offset:020d}-{snapshot_id.epoch:010d}.checkpoint"


def _in_parts(changes: Iterator[Change]) -> Iterator[list[Change]]:
    while part := list(islice(changes, _CHANGES_PER_BATCH)):
        yield part
