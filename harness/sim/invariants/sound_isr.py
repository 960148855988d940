"""W-ISR: what the controllers decide about a partition makes sense in itself.

The ISR and the ELR are among the replicas and have nobody in common; where enough are in sync
nobody else is eligible; the leader is in sync, and nobody in sync is fenced. Looked at whenever it
changes, when all of a batch is applied: half a batch nobody acts on.
"""

from __future__ import annotations

from broker.inspect import NO_LEADER, PartitionInfo
from harness.sim.invariants.base import Cost, Violation
from harness.sim.invariants.decided import Decided
from harness.sim.invariants.step import Step


class SoundIsr:
    name = "W-ISR"
    cost = Cost.CHEAP

    def __init__(self) -> None:
        self.looks = 0

    def check(self, step: Step) -> Violation | None:
        decided = step.scene.decided
        for key in step.decided:
            info = decided.infos.get(key)
            if info is None:
                continue
            self.looks += 1
            problem = _problem(info, decided.min_isr[key]) or _stranger(info, decided)
            if problem is not None:
                return step.broken(
                    self.name, f"{decided.name(key)} at {decided.offset}: {problem}; {_state(info)}"
                )
        for broker_id in step.brokers:
            broker = decided.brokers.get(broker_id)
            self.looks += 1
            if decided.in_sync.get(broker_id) and (broker is None or broker.fenced):
                key = next(iter(decided.in_sync[broker_id]))
                return step.broken(
                    self.name,
                    f"broker {broker_id} is fenced, and in the ISR of {decided.name(key)}",
                )
        return None


def _problem(info: PartitionInfo, min_isr: int) -> str | None:
    for group, members in (("ISR", info.isr), ("ELR", info.elr)):
        strangers = [each for each in members if each not in info.replicas]
        if strangers:
            return f"{strangers} in the {group} hold no replica"
        if len(set(members)) != len(members):
            return f"the {group} names somebody twice"
    both = [each for each in info.isr if each in info.elr]
    if both:
        return f"{both} are in the ISR and in the ELR"
    if info.elr and len(info.isr) >= min_isr:
        return f"{min_isr} in sync are enough, but there is an ELR"
    if info.leader != NO_LEADER and info.leader not in info.isr:
        return f"the leader {info.leader} is not in sync"
    return None


def _stranger(info: PartitionInfo, decided: Decided) -> str | None:
    for each in info.isr:
        broker = decided.brokers.get(each)
        if broker is None or broker.fenced:
            return f"broker {each} in the ISR is fenced"
    return None


def _state(info: PartitionInfo) -> str:
    return (
        f"leader {info.leader} of epoch {info.leader_epoch}, partition epoch "
        f"{info.partition_epoch}, replicas {list(info.replicas)}, ISR {list(info.isr)}, "
        f"ELR {list(info.elr)}"
    )
