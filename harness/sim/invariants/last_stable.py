"""W-LSO: the last stable offset is where the log says it is, and a leader's never goes back.

It is the first offset of the earliest transaction that has no marker below the high watermark, or
the high watermark itself; worked out here from the batches of the log, on leaders and followers. A
log whose beginning was deleted, compacted or damaged is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from broker.inspect import SeenBatch
from harness.sim.invariants.base import METADATA, Cost, Key, Violation
from harness.sim.invariants.new_batches import NewBatches
from harness.sim.invariants.replica import Replica
from harness.sim.invariants.step import Step


class _Opened:
    """The transactions of one replica's log."""

    def __init__(self) -> None:
        self._open: dict[int, int] = {}
        self._ended: list[tuple[int, int]] = []
        """First offset and offset of the marker, of ended transactions."""

    def take(self, batches: Sequence[SeenBatch]) -> None:
        for batch in batches:
            if not batch.is_transactional:
                continue
            if not batch.is_control:
                self._open.setdefault(batch.producer_id, batch.base_offset)
            elif batch.marker is not None and batch.producer_id in self._open:
                self._ended.append((self._open.pop(batch.producer_id), batch.base_offset))

    def last_stable(self, high_watermark: int) -> int:
        # A truncation may lower the mark of a follower, so nothing is forgotten by it.
        unstable = [first for first, marker in self._ended if marker >= high_watermark]
        return min([high_watermark, *self._open.values(), *unstable])


class LastStable:
    name = "W-LSO"
    cost = Cost.CHEAP

    def __init__(self) -> None:
        self.looks = 0
        self._new = NewBatches()
        self._opened: dict[tuple[str, Key], _Opened] = {}
        self._marks: dict[tuple[str, int, Key], tuple[int, int]] = {}

    def check(self, step: Step) -> Violation | None:
        for replica in step.replicas.values():
            if replica.key == METADATA:
                continue
            problem = self._fallen(replica)
            if problem is None and not replica.is_unlike:
                problem = self._wrong(replica)
            if problem is not None:
                return step.broken(self.name, f"{replica}: {problem}")
        return None

    def _wrong(self, replica: Replica) -> str | None:
        place = (replica.node, replica.key)
        batches, is_anew = self._new.of(replica)
        opened = self._opened[place] = _Opened() if is_anew else self._opened[place]
        opened.take(batches)
        log = replica.seen_log
        begins_at_zero = replica.log.batches and replica.log.batches[0].base_offset == 0
        if not begins_at_zero or replica.log.problem is not None or log.start > 0:
            return None
        self.looks += 1
        expected = opened.last_stable(log.high_watermark)
        if log.last_stable != expected:
            return (
                f"its last stable offset is {log.last_stable}, and by its log it is {expected} "
                f"(high watermark {log.high_watermark})"
            )
        return None

    def _fallen(self, replica: Replica) -> str | None:
        leadership = None if replica.partition is None else replica.partition.leadership
        if leadership is None:
            return None
        place = (replica.node, replica.life, replica.key)
        epoch, stable = leadership.leader_epoch, replica.seen_log.last_stable
        before_epoch, before = self._marks.get(place, (epoch, stable))
        self._marks[place] = (epoch, stable)
        if before_epoch == epoch and stable < before:
            return f"its last stable offset goes back from {before} to {stable} in epoch {epoch}"
        return None
