"""W-SEQ: what a partition remembers of its producers is what a replay of its log gives.

So it is at every moment and on every replica: after appends, after a recovery, after a snapshot was
loaded, after a truncation, and when a log has come back. A leader that forgets a batch takes a
retry of it for a new one; one that remembers a batch which was cut off refuses what it should take.

Compared are the epoch, the sequences and offsets of the last batches, and the open transaction. Of
a log whose beginning was deleted only what its batches show is compared: snapshots may know more.
Nothing is asked of partitions that forget producers within an hour, nor of compacted or damaged
logs.
"""

from __future__ import annotations

from collections.abc import Iterable

from broker.inspect import SeenBatch, SeenProducer, producers
from harness.sim.invariants.base import METADATA, Cost, Key, Violation
from harness.sim.invariants.replica import Replica
from harness.sim.invariants.step import Step

WINDOW = 5
"""A client has at most five batches in flight, so no retry is older than its last five."""


class _Replayed:
    """The producers of one replica's log, by its batches; goes on where it stopped."""

    def __init__(self, replica: Replica) -> None:
        self.replica = replica
        self.producers: dict[int, SeenProducer] = {}
        self._last: SeenBatch | None = None
        self._count = 0

    def follow(self) -> set[int] | None:
        """Whose batches are new; None when everything was replayed from the beginning."""
        batches = self.replica.log.batches
        is_grown = 0 < self._count <= len(batches) and batches[self._count - 1] == self._last
        if not is_grown:
            self.producers, self._count = {}, 0
        new = batches[self._count :]
        for batch in new:
            if batch.producer_id >= 0:
                self.producers[batch.producer_id] = _after(
                    self.producers.get(batch.producer_id), batch
                )
        self._count = len(batches)
        self._last = batches[-1] if batches else None
        return {each.producer_id for each in new if each.producer_id >= 0} if is_grown else None


def _after(before: SeenProducer | None, batch: SeenBatch) -> SeenProducer:
    same_epoch = before is not None and before.epoch == batch.producer_epoch
    written = before.written if before is not None and same_epoch else ()
    opened = None if before is None else before.txn_first_offset
    if batch.is_control:
        return SeenProducer(batch.producer_epoch, written, None)
    if batch.is_transactional and opened is None:
        opened = batch.base_offset
    last = (batch.last_sequence, batch.last_offset)
    return SeenProducer(batch.producer_epoch, (*written, last)[-WINDOW:], opened)


class KnownProducers:
    name = "W-SEQ"
    cost = Cost.CHEAP

    def __init__(self) -> None:
        self.looks = 0
        self._replayed: dict[tuple[str, Key], _Replayed] = {}

    def check(self, step: Step) -> Violation | None:
        for replica in step.replicas.values():
            if replica.key == METADATA or replica.is_unlike:
                continue
            problem = self._look(step, replica)
            if problem is not None:
                return step.broken(self.name, f"{replica}: {problem}")
        return None

    def _look(self, step: Step, replica: Replica) -> str | None:
        place = (replica.node, replica.key)
        replayed = self._replayed.get(place)
        if replayed is None or replayed.replica is not replica:
            replayed = self._replayed[place] = _Replayed(replica)
        touched = replayed.follow()
        if touched is not None and not touched:
            return None
        process = step.scene.process(replica.node)
        known = None
        if process is not None:
            known = producers(process, replica.topic, replica.key[1], touched)
        if known is None:
            return None
        is_whole = _begins_at_zero(replica)
        strangers = [each for each in known if each not in replayed.producers]
        if touched is None and is_whole and strangers:
            return f"it remembers producer {strangers[0]}, of whom its log has nothing"
        ids = replayed.producers if touched is None else touched
        return self._compare(ids, replayed.producers, known, is_whole)

    def _compare(
        self,
        ids: Iterable[int],
        replayed: dict[int, SeenProducer],
        known: dict[int, SeenProducer],
        is_whole: bool,
    ) -> str | None:
        for each in ids:
            self.looks += 1
            if not _is_same(replayed[each], known.get(each), is_whole):
                return (
                    f"it remembers {_told(known.get(each))} of producer {each}, but its log says "
                    f"{_told(replayed[each])}"
                )
        return None


def _begins_at_zero(replica: Replica) -> bool:
    batches = replica.log.batches
    return batches[0].base_offset == 0 if batches else replica.seen_log.end == 0


def _is_same(replayed: SeenProducer, known: SeenProducer | None, is_whole: bool) -> bool:
    if is_whole or known is None:
        return replayed == known
    # Batches that are gone from the log may still be remembered, from a snapshot.
    tail = known.written[len(known.written) - len(replayed.written) :]
    return (known.epoch, tail) == (replayed.epoch, replayed.written)


def _told(producer: SeenProducer | None) -> str:
    if producer is None:
        return "nothing"
    written = ", ".join(f"{sequence}@{offset}" for sequence, offset in producer.written)
    opened = producer.txn_first_offset
    transaction = "" if opened is None else f", a transaction since {opened}"
    return f"epoch {producer.epoch} and the sequences [{written}]{transaction}"
