"""Brings what the quorum has committed into the image, batch by batch, in the log's order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from broker.metadata.changes import Change
from broker.metadata.image import Image
from broker.observe.events import emit
from broker.protocol.errors import ErrorCode, KafkaError
from broker.quorum.insist import RETRY_S, lack_of_room
from broker.quorum.metadata_log import TOPIC, Committed, MetadataLog
from broker.quorum.strangers import check_voters
from broker.raft.events import SnapshotId

_log = logging.getLogger(__name__)

OnApplied = Callable[[Sequence[Change] | None], None]
"""Told the changes of each batch, right after the image has them; None: the image is a new one."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What an event tells: the changes, or None when the image is another one."""

    changes: Sequence[Change] | None

    def __str__(self) -> str:
        if self.changes is None:
            return "a snapshot"
        return ", ".join(type(each).__name__ for each in self.changes)


class Replay:
    """Nobody else changes the image."""

    def __init__(
        self,
        log: MetadataLog,
        image: Image,
        on_applied: OnApplied,
        *,
        snapshot_after_bytes: int,
        voters: Sequence[int] | None = None,
    ) -> None:
        """`voters` are those that this node knows; each leader was elected among the same."""
        self._voters = voters
        self.image = image
        self.applied_offset = log.start_offset
        self.applied_epoch = 0 if log.snapshot_id is None else log.snapshot_id.epoch
        self._log = log
        self._on_applied = on_applied
        self._snapshot_after_bytes = snapshot_after_bytes
        self._bytes_since_snapshot = 0
        self._committed = log.start_offset
        self._progress = asyncio.Condition()

    async def run(self) -> None:
        """Until it is cancelled. Whatever it raises means that this node must not go on."""
        while True:
            async with self._progress:
                await self._progress.wait_for(lambda: self._committed > self.applied_offset)
            for batch in await self._read(self.applied_offset):
                if batch.end_offset <= self.applied_offset:
                    continue  # a snapshot came meanwhile, and has it
                if self._voters is not None and batch.voters is not None:
                    check_voters(self._voters, batch.voters)
                # A batch is applied whole, between two awaits: nobody sees a half of it.
                for change in batch.changes:
                    self.image.apply(change)
                self.applied_offset, self.applied_epoch = batch.end_offset, batch.epoch
                self._bytes_since_snapshot += batch.size
                self._tell(batch.changes)
                if batch.changes:
                    self._on_applied(batch.changes)
            await self._announce()
            await self._make_snapshot_if_due()

    async def _read(self, offset: int) -> Sequence[Committed]:
        try:
            return await self._log.batches(offset, self._committed)
        except KafkaError as problem:
            if lack_of_room(problem) is not None:
                # The log is offline until the truncation that found no room succeeds.
                await asyncio.sleep(RETRY_S)
                return ()
            is_gone = problem.code == ErrorCode.OFFSET_OUT_OF_RANGE
            if not is_gone or self._log.start_offset <= offset:
                raise
            # A snapshot has taken its place in the log, and is about to do so in the image.
            await self.until(self._log.start_offset)
            return ()

    async def committed(self, offset: int) -> None:
        """Everything before `offset` will stay for good."""
        if offset > self._committed:
            self._committed = offset
            await self._announce()

    async def until(self, offset: int) -> None:
        async with self._progress:
            await self._progress.wait_for(lambda: self.applied_offset >= offset)

    async def start_over(self, snapshot_id: SnapshotId, image: Image) -> None:
        """With the image of a snapshot that was fetched: what it skips is gone from all logs."""
        self.image.become(image)
        self.applied_offset, self.applied_epoch = snapshot_id
        self._committed = max(self._committed, self.applied_offset)
        self._bytes_since_snapshot = 0
        self._tell(None)
        self._on_applied(None)
        await self._announce()

    def _tell(self, changes: Sequence[Change] | None) -> None:
        emit("metadata", TOPIC, 0, self.applied_offset, self.applied_epoch, Applied(changes))

    async def _announce(self) -> None:
        async with self._progress:
            self._progress.notify_all()

    async def _make_snapshot_if_due(self) -> None:
        if self._bytes_since_snapshot >= self._snapshot_after_bytes:
            self._bytes_since_snapshot = 0
            snapshot_id = SnapshotId(self.applied_offset, self.applied_epoch)
            try:
                await self._log.write_snapshot(self.image, snapshot_id)
            except (OSError, KafkaError) as error:
                problem = lack_of_room(error)
                if problem is None:
                    raise
                # The log has everything: the next one is due when as much has come again.
                _log.warning("no snapshot of the metadata, for lack of room: %s", problem)
                return
            emit("snapshot", TOPIC, 0, *snapshot_id)
