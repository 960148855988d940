"""W-OPEN: a transaction that is open in a partition is known to its coordinator.

Of the partition that the controllers want to lead: whoever has a transaction open there is in a
transaction that the coordinators have committed as Ongoing or Prepared, with this partition. One
that no coordinator knows would never be ended, and readers of committed records would wait for ever
(KAFKA-14402). Markers that are on their way need no grace: a transaction is complete only when they
have all been written.
"""

from __future__ import annotations

from broker.inspect import TransactionState, producers
from harness.sim.invariants.base import METADATA, Cost, Violation
from harness.sim.invariants.new_batches import NewBatches
from harness.sim.invariants.replica import Replica
from harness.sim.invariants.step import Step
from harness.sim.invariants.transaction_log import LoggedTransaction

_KNOWN = (
    TransactionState.ONGOING,
    TransactionState.PREPARE_COMMIT,
    TransactionState.PREPARE_ABORT,
)


class KnownTransactions:
    name = "W-OPEN"
    cost = Cost.CHEAP

    def __init__(self) -> None:
        self.looks = 0
        self._new = NewBatches()

    def check(self, step: Step) -> Violation | None:
        step.scene.transactions.follow(step)
        for replica in step.replicas.values():
            if replica.key == METADATA or replica.is_unlike:
                continue
            if step.scene.leader(replica.key) is not replica:
                continue
            if step.scene.decided.was_unclean(replica.key):
                continue
            problem = self._look(step, replica)
            if problem is not None:
                return step.broken(self.name, f"{replica}: {problem}")
        return None

    def _look(self, step: Step, replica: Replica) -> str | None:
        new = self._new.of(replica).batches
        touched = {batch.producer_id for batch in new if batch.is_transactional}
        process = step.scene.process(replica.node)
        if not touched or process is None:
            return None
        known = producers(process, replica.topic, replica.key[1], touched) or {}
        for producer_id, producer in sorted(known.items()):
            if producer.txn_first_offset is None:
                continue
            self.looks += 1
            problem = self._problem(step, replica, producer_id, producer.epoch)
            if problem is None:
                continue
            if step.scene.transactions.look_again(step):
                problem = self._problem(step, replica, producer_id, producer.epoch)
                if problem is not None:
                    return f"{problem} (open since {producer.txn_first_offset})"
        return None

    def _problem(self, step: Step, replica: Replica, producer_id: int, epoch: int) -> str | None:
        found = step.scene.transactions.of_producer(producer_id)
        if found is None:
            return f"producer {producer_id} has a transaction here that no coordinator knows"
        if found.state not in _KNOWN or not _is_same(found, producer_id, epoch):
            return f"producer {producer_id} epoch {epoch} has a transaction here, after {found}"
        if (replica.topic, replica.key[1]) not in found.partitions:
            return f"it is not among the partitions of {found}"
        return None


def _is_same(found: LoggedTransaction, producer_id: int, epoch: int) -> bool:
    """A prepared transaction may have the epoch that its markers carry, one above."""
    if found.state is TransactionState.ONGOING:
        return found.identity == (producer_id, epoch)
    return found.producer_id == producer_id and found.epoch in (epoch, epoch + 1)
