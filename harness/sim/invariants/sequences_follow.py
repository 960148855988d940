"""W-SEQ, in the log itself: the batches of a producer follow each other without a gap.

Of each producer id and epoch, every batch begins with the sequence after the last one, and a later
epoch begins with 0. Kafka takes any sequence from a producer that a partition does not remember, so
partitions that forget producers within an hour are left out, as are logs that are compacted,
damaged, or do not begin at offset 0.
"""

from __future__ import annotations

from broker.inspect import SeenBatch, producers
from harness.sim.invariants.base import METADATA, Cost, Key, Violation
from harness.sim.invariants.new_batches import NewBatches
from harness.sim.invariants.replica import Replica
from harness.sim.invariants.step import Step

_MASK = 0x7FFFFFFF


class SequencesFollow:
    name = "W-SEQ"
    cost = Cost.CHEAP

    def __init__(self) -> None:
        self.looks = 0
        self._new = NewBatches()
        self._last: dict[tuple[str, Key], dict[int, SeenBatch]] = {}

    def check(self, step: Step) -> Violation | None:
        for replica in step.replicas.values():
            if replica.key == METADATA or replica.is_unlike or not replica.log.batches:
                continue
            problem = self._look(step, replica)
            if problem is not None:
                return step.broken(self.name, f"{replica}: {problem}")
        return None

    def _look(self, step: Step, replica: Replica) -> str | None:
        process = step.scene.process(replica.node)
        if process is None or replica.log.batches[0].base_offset > 0:
            return None
        if producers(process, replica.topic, replica.key[1], ()) is None:
            return None
        batches, is_anew = self._new.of(replica)
        place = (replica.node, replica.key)
        last = self._last[place] = {} if is_anew else self._last[place]
        for batch in batches:
            if batch.producer_id < 0 or batch.is_control:
                continue
            problem = self._after(last.get(batch.producer_id), batch)
            if problem is not None:
                return problem
            last[batch.producer_id] = batch
        return None

    def _after(self, before: SeenBatch | None, batch: SeenBatch) -> str | None:
        if before is None:
            return None
        self.looks += 1
        expected = 0
        if before.producer_epoch == batch.producer_epoch:
            expected = (before.last_sequence + 1) & _MASK
        elif before.producer_epoch > batch.producer_epoch:
            return (
                f"producer {batch.producer_id} writes at {batch.base_offset} in epoch "
                f"{batch.producer_epoch}, after epoch {before.producer_epoch}"
            )
        if batch.first_sequence != expected:
            return (
                f"the batch of producer {batch.producer_id} epoch {batch.producer_epoch} at "
                f"{batch.base_offset} begins with sequence {batch.first_sequence}, after "
                f"{before.last_sequence} in epoch {before.producer_epoch}"
            )
        return None
