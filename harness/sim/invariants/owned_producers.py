"""W-PID: a producer id belongs to one transactional id, and each of its epochs to one producer.

By the committed records of the coordinators: an id that a producer takes (Empty) has an identity
that it had never before, and a producer id that no other transactional id has. By the logs of
partitions: only the producer that a coordinator knows writes transactional batches under its id,
and nobody writes others under it.
"""

from __future__ import annotations

from broker.inspect import TransactionState
from harness.sim.invariants.base import METADATA, Cost, Violation
from harness.sim.invariants.new_batches import NewBatches
from harness.sim.invariants.step import Step
from harness.sim.invariants.transaction_log import Transition


class OwnedProducers:
    name = "W-PID"
    cost = Cost.CHEAP

    def __init__(self) -> None:
        self.looks = 0
        self._new = NewBatches()
        self._owners: dict[int, str] = {}
        self._given: dict[str, set[tuple[int, int]]] = {}

    def check(self, step: Step) -> Violation | None:
        for transition in step.scene.transactions.follow(step):
            self.looks += 1
            problem = self._problem(transition)
            if problem is not None:
                return step.broken(self.name, problem)
        return self._check_batches(step)

    def _problem(self, transition: Transition) -> str | None:
        after, name = transition.after, transition.transactional_id
        if after is None:
            return None
        owner = self._owners.setdefault(after.producer_id, name)
        if owner != name:
            return f"producer id {after.producer_id} of {name} belongs to {owner}"
        given = self._given.setdefault(name, set())
        before = transition.before
        is_new = before is None or before.identity != after.identity
        if after.state is TransactionState.EMPTY and after.identity in given:
            return (
                f"{name} is given producer {after.producer_id} epoch {after.epoch} again"
                if is_new
                else f"{name} is initialised anew with the epoch {after.epoch} that it had"
            )
        given.add(after.identity)
        return None

    def _check_batches(self, step: Step) -> Violation | None:
        for replica in step.replicas.values():
            if replica.key == METADATA:
                continue
            for batch in self._new.of(replica).batches:
                owner = self._owners.get(batch.producer_id)
                if owner is None or batch.is_control:
                    continue
                self.looks += 1
                if not batch.is_transactional:
                    return step.broken(
                        self.name,
                        f"{replica} has a batch without a transaction at {batch.base_offset} of "
                        f"producer {batch.producer_id}, which belongs to {owner}",
                    )
        return None
