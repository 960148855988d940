"""W-TXN: a transactional id goes from state to state as the protocol says, and no marker is written
before its decision is final.

    Empty -> Ongoing -> PrepareCommit -> CompleteCommit
                     -> PrepareAbort  -> CompleteAbort

An idle id (Empty, or Complete) may begin again, be taken by another producer, or be aborted without
having begun (KIP-890). The epoch of a producer id never decreases. Looked at are the records of the
coordinators that are committed; and of every marker that a partition shows, whether the decision
that it carries out was committed before.
"""

from __future__ import annotations

from broker.inspect import TransactionState
from harness.sim.invariants.base import Cost, Violation
from harness.sim.invariants.new_batches import NewBatches
from harness.sim.invariants.step import Step
from harness.sim.invariants.transaction_log import LoggedTransaction, Transition

_IDLE = (
    TransactionState.EMPTY,
    TransactionState.COMPLETE_COMMIT,
    TransactionState.COMPLETE_ABORT,
)
_ONGOING = TransactionState.ONGOING
_BEFORE = {
    TransactionState.EMPTY: _IDLE,
    _ONGOING: (*_IDLE, _ONGOING),
    TransactionState.PREPARE_COMMIT: (_ONGOING,),
    TransactionState.PREPARE_ABORT: (*_IDLE, _ONGOING),
    TransactionState.COMPLETE_COMMIT: (TransactionState.PREPARE_COMMIT,),
    TransactionState.COMPLETE_ABORT: (TransactionState.PREPARE_ABORT,),
}


class DecidedTransactions:
    name = "W-TXN"
    cost = Cost.CHEAP

    def __init__(self) -> None:
        self.looks = 0
        self._new = NewBatches()

    def check(self, step: Step) -> Violation | None:
        for transition in step.scene.transactions.follow(step):
            self.looks += 1
            problem = _problem(transition)
            if problem is not None:
                return step.broken(self.name, f"{transition.transactional_id}: {problem}")
        return self._check_markers(step)

    def _check_markers(self, step: Step) -> Violation | None:
        prepared = step.scene.transactions.prepared
        for replica in step.replicas.values():
            for batch in self._new.of(replica).batches:
                if batch.marker is None:
                    continue
                self.looks += 1
                decision = (batch.producer_id, batch.producer_epoch, batch.marker.committed)
                if decision in prepared:
                    continue
                if not step.scene.transactions.look_again(step) or decision in prepared:
                    continue
                kind = "a COMMIT" if batch.marker.committed else "an ABORT"
                return step.broken(
                    self.name,
                    f"{replica} has {kind} marker of producer {batch.producer_id} epoch "
                    f"{batch.producer_epoch} at {batch.base_offset}, and no coordinator has "
                    "committed that decision",
                )
        return None


def _problem(transition: Transition) -> str | None:
    before, after = transition.before, transition.after
    if after is None:
        if before is not None and before.state not in _IDLE:
            return f"it expired in {before}"
        return None
    if before is None:
        # The beginning of the log may be compacted away.
        return None
    if before.state not in _BEFORE.get(after.state, ()):
        return f"{after} follows {before}"
    return _older_epoch(before, after)


def _older_epoch(before: LoggedTransaction, after: LoggedTransaction) -> str | None:
    if after.producer_id == before.producer_id and after.epoch < before.epoch:
        return f"{after} follows {before}, which has a later epoch"
    return None
