"""W-MARK: a transaction that is complete has its marker in every partition that it had.

By the time at which a coordinator has written that a transaction is complete, and the record is
committed, each of its partitions has shown the marker of the decision. In the second protocol,
where each transaction has an epoch of its own, no partition has both markers for one epoch. The
coordinator epochs in a partition's markers never decrease for one producer.

Partitions of compacted topics are left out: their batches are not followed.
"""

from __future__ import annotations

from broker.inspect import SeenBatch, TransactionState
from harness.sim.invariants.base import METADATA, Cost, Violation
from harness.sim.invariants.new_batches import NewBatches
from harness.sim.invariants.replica import Replica
from harness.sim.invariants.step import Step
from harness.sim.invariants.transaction_log import LoggedTransaction, Slot

_COMPLETE = {
    TransactionState.COMPLETE_COMMIT: True,
    TransactionState.COMPLETE_ABORT: False,
}
_SECOND = 2


class MarkersEverywhere:
    name = "W-MARK"
    cost = Cost.CHEAP

    def __init__(self) -> None:
        self.looks = 0
        self._new = NewBatches()
        self._marked: dict[Slot, set[tuple[int, int, bool]]] = {}
        """By partition, each marker that some replica of it has shown."""
        self._followed: set[Slot] = set()
        self._second: set[tuple[int, int]] = set()
        """Identities of markers of the second protocol."""

    def check(self, step: Step) -> Violation | None:
        for replica in step.replicas.values():
            if replica.key != METADATA and not replica.is_unlike:
                problem = self._look(replica)
                if problem is not None:
                    return step.broken(self.name, f"{replica}: {problem}")
        for transition in step.scene.transactions.follow(step):
            before, after = transition.before, transition.after
            if before is not None and after is not None and after.state in _COMPLETE:
                problem = self._missing(before, committed=_COMPLETE[after.state])
                if problem is not None:
                    return step.broken(self.name, problem)
            if after is not None and after.state.is_prepared and after.client_version >= _SECOND:
                self._second.add(after.identity)
        return None

    def _look(self, replica: Replica) -> str | None:
        slot = (replica.topic, replica.key[1])
        self._followed.add(slot)
        for batch in self._new.of(replica).batches:
            if batch.marker is not None:
                problem = self._both(slot, batch) or _older(replica, batch)
                if problem is not None:
                    return problem
        return None

    def _both(self, slot: Slot, batch: SeenBatch) -> str | None:
        assert batch.marker is not None
        self.looks += 1
        identity = (batch.producer_id, batch.producer_epoch)
        marked = self._marked.setdefault(slot, set())
        marked.add((*identity, batch.marker.committed))
        if identity in self._second and (*identity, not batch.marker.committed) in marked:
            return (
                f"it has a COMMIT and an ABORT marker of producer {identity[0]} epoch "
                f"{identity[1]}, the second at {batch.base_offset}"
            )
        return None

    def _missing(self, prepared: LoggedTransaction, *, committed: bool) -> str | None:
        for slot in sorted(prepared.partitions & self._followed):
            self.looks += 1
            if (*prepared.identity, committed) not in self._marked.get(slot, ()):
                return (
                    f"{prepared.transactional_id} is complete, and {slot[0]}-{slot[1]} has no "
                    f"marker for it ({prepared})"
                )
        return None


def _older(replica: Replica, batch: SeenBatch) -> str | None:
    """Only the markers that are near are compared: each is compared with the one before it."""
    assert batch.marker is not None
    for before in reversed(replica.log.batches):
        if before.base_offset >= batch.base_offset or before.marker is None:
            continue
        if before.producer_id == batch.producer_id:
            if before.marker.coordinator_epoch > batch.marker.coordinator_epoch:
                return (
                    f"the marker of producer {batch.producer_id} at {batch.base_offset} is of "
                    f"coordinator epoch {batch.marker.coordinator_epoch}, after "
                    f"{before.marker.coordinator_epoch}"
                )
            return None
    return None
