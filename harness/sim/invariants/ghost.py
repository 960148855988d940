"""The ghost record: all that was ever below a high watermark, or acknowledged, on any node.

Whatever a reader may have seen, or a writer been promised, is in it for good, whoever has lost it
since. It grows with what the run writes, and each batch is in it once.
"""

from __future__ import annotations

from bisect import bisect_left
from operator import attrgetter
from typing import NamedTuple

from broker.inspect import SeenBatch
from harness.sim.invariants.base import Key
from harness.sim.invariants.replica import Replica

_base_offset = attrgetter("base_offset")


class Exposed(NamedTuple):
    """One batch, who showed it first, and under which epoch that node was then."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    crc: int
    shown_by: str
    shown_in: int

    def is_same(self, batch: SeenBatch) -> bool:
        return (self.last_offset, self.leader_epoch, self.crc) == (
            batch.last_offset,
            batch.leader_epoch,
            batch.crc,
        )


class Conflict(NamedTuple):
    """A replica shows something else at an offset than was shown there before."""

    replica: Replica
    batch: SeenBatch
    before: Exposed | None


class Record:
    """Of one partition."""

    def __init__(self) -> None:
        self.batches: list[Exposed] = []
        self.by_base: dict[int, Exposed] = {}

    @property
    def start(self) -> int:
        return self.batches[0].base_offset if self.batches else 0

    @property
    def end(self) -> int:
        return self.batches[-1].last_offset + 1 if self.batches else 0

    def behind(self, offset: int) -> list[Exposed]:
        if offset >= self.end:
            return []
        return self.batches[bisect_left(self.batches, offset, key=_base_offset) :]

    def add(self, batch: SeenBatch, shown_by: str, shown_in: int) -> None:
        shown = Exposed(
            batch.base_offset,
            batch.last_offset,
            batch.leader_epoch,
            batch.crc,
            shown_by,
            shown_in,
        )
        self.batches.append(shown)
        self.by_base[shown.base_offset] = shown


class Ghost:
    def __init__(self) -> None:
        self._records: dict[Key, Record] = {}
        self._forgiven: set[Key] = set()
        self._grown: dict[Key, None] = {}

    def of(self, key: Key) -> Record:
        return self._records.setdefault(key, Record())

    def forgive(self, key: Key) -> None:
        """A leader was elected that may lack records, because the topic allows it.

        No promise about this partition holds from now on.
        """
        self._forgiven.add(key)

    def is_forgiven(self, key: Key) -> bool:
        return key in self._forgiven

    def show(self, replica: Replica, up_to: int) -> Conflict | None:
        """The replica's batches below `up_to` can be seen by others from now on."""
        if replica.shown_end >= up_to or replica.key in self._forgiven:
            return None
        record = self.of(replica.key)
        for batch in replica.log.between(replica.shown_end, up_to):
            if batch.base_offset >= record.end:
                record.add(batch, replica.node, replica.epoch)
                self._grown[replica.key] = None
            elif batch.base_offset >= record.start:
                before = record.by_base.get(batch.base_offset)
                if before is None or not before.is_same(batch):
                    return Conflict(replica, batch, before)
            replica.shown_end = batch.last_offset + 1
        return None

    def take_grown(self) -> dict[Key, None]:
        """Of which partitions something was shown for the first time since this was last asked."""
        grown, self._grown = self._grown, {}
        return grown

    def missing(self, replica: Replica, before_epoch: int | None = None) -> Exposed | None:
        """The first batch that was ever shown and that this replica lacks, or has otherwise.

        Not looked at is what lies before the log's start, and with `before_epoch` what was first
        shown in this epoch or a later one. The next question begins where this one ended.
        """
        if replica.key in self._forgiven:
            return None
        start, by_base = replica.seen_log.start, replica.log.by_base
        for each in self.of(replica.key).behind(replica.held_end):
            if before_epoch is not None and each.shown_in >= before_epoch:
                break
            if replica.is_unlike:
                # Which batches it still has is its own business; how far it reaches is not.
                if each.last_offset >= replica.seen_log.end:
                    return each
            elif each.last_offset >= start:
                batch = by_base.get(each.base_offset)
                if batch is None or not each.is_same(batch):
                    return each
            replica.held_end = each.last_offset + 1
        return None
