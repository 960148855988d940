"""Whether a cluster comes back when nothing strikes it any more: led, writable, and all in sync.

Asked at the end of a run, within bounds that begin with the end of the last fault. Only what must
be so is a finding: a partition without a leader while a majority of the quorum and an eligible
replica live; a partition that takes no write though it is led; a live replica that is not let back
into the ISR. What was never healed, and what only a replica that is down could mend, is none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from broker.inspect import (
    NO_LEADER,
    Node,
    PartitionInfo,
    applied_offset,
    inspect_partition,
    inspect_quorum,
    partition_count,
    partition_info,
    topic_names,
)
from harness.schedule.faults import ClockJump, ClockSkew
from harness.sim.healing import FIRST_ACK_S_MAX, healed_s, slow_partitions
from harness.sim.operations import TOPIC
from harness.sim.record import Record
from harness.sim.stage import Stage

REJOIN = "W-REJOIN"
"""The name of the last of these among the invariants."""
REJOIN_S_MAX = 60.0
"""After healing all live replicas are in sync: twice `replica.socket.timeout.ms`, for which a
follower may wait for a reply that was lost."""
_LOOK_EVERY_S = 0.5


class Comeback(NamedTuple):
    unavailable: tuple[str, ...] = ()
    """Partitions that should serve, and do not."""
    behind: tuple[str, ...] = ()
    """Partitions that live replicas have not come back to."""
    looks: int = 0
    """How many partitions were looked at. At 0 it has shown nothing."""


async def await_comeback(stage: Stage) -> None:
    """Until everything is in sync, or the bound is over; at once where that cannot be expected."""
    until_s = 0.0
    while is_healed(stage):
        found = _partitions(stage)
        if all(not each.away and each.info.leader != NO_LEADER for each in found):
            return
        if stage.simulation.now_s > until_s:
            # A node that ended by itself and was started again counts as a fault of its own.
            until_s = _healed_s(stage) + REJOIN_S_MAX + _LOOK_EVERY_S
            if stage.simulation.now_s > until_s:
                return
        await asyncio.sleep(_LOOK_EVERY_S)


def comeback(stage: Stage, record: Record) -> Comeback:
    """What there is to say of the cluster as it is now, and of the last writes."""
    found = _partitions(stage) if is_healed(stage) else []
    since_s = _healed_s(stage)
    calm_s = stage.simulation.now_s - since_s
    unavailable, behind = [], []
    for each in found:
        if each.info.leader == NO_LEADER:
            if each.eligible and calm_s > FIRST_ACK_S_MAX:
                unavailable.append(
                    f"{each.name} has no leader {calm_s:.0f} s after the last fault, though "
                    f"{each.eligible[0]} is eligible and a majority of the quorum lives"
                )
        elif each.away and calm_s > REJOIN_S_MAX:
            behind.append(_told_of_absence(each, calm_s))
    led = {each.index for each in found if each.topic == TOPIC and each.is_writable}
    for index, wait_s in slow_partitions(record, since_s, FIRST_ACK_S_MAX).items():
        if index in led:
            took = "never came" if wait_s is None else f"came after {wait_s:.1f} s"
            unavailable.append(
                f"{TOPIC}-{index} is led, and the first acknowledgement after the last fault "
                f"{took}; it should come within {FIRST_ACK_S_MAX:g} s"
            )
    return Comeback(tuple(unavailable), tuple(behind), len(found))


@dataclass(frozen=True, slots=True)
class _Found:
    topic: str
    index: int
    info: PartitionInfo
    eligible: tuple[str, ...]
    """Live members of the ISR and the ELR."""
    away: tuple[str, ...]
    """Live replicas that are not in sync, though their logs can be used."""
    is_writable: bool
    is_proposing: bool

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.index}"


def is_healed(stage: Stage) -> bool:
    """Whether every fault that took hold has ended, but for nodes that were to stay down."""
    now_ms = stage.simulation.now_s * 1000
    for fault in stage.schedule.faults:
        if fault.name not in stage.director.took_hold or isinstance(fault, ClockJump | ClockSkew):
            continue
        if hasattr(fault, "node") and not stage.cluster[fault.node].is_running:
            continue
        if fault.for_ms is None or fault.at_ms + fault.for_ms > now_ms:
            return False
    return True


def _healed_s(stage: Stage) -> float:
    return healed_s(stage.simulation.trace, Record())


def _partitions(stage: Stage) -> list[_Found]:
    """As the node knows them that has applied most; none unless a majority of the voters lives."""
    live = dict(_live(stage))
    if not live:
        return []
    best = max(live.values(), key=applied_offset)
    quorum = inspect_quorum(best)
    if quorum is None or sum(each in live for each in quorum.voters) <= len(quorum.voters) // 2:
        return []
    return [
        _look(live, best, topic, index)
        for topic in topic_names(best)
        for index in range(partition_count(best, topic))
    ]


def _live(stage: Stage) -> Iterator[tuple[int, Node]]:
    for machine in stage.cluster.nodes.values():
        if machine.node is not None and machine.life is not None and not machine.life.is_paused:
            yield machine.node_id, machine.node


def _look(live: dict[int, Node], best: Node, topic: str, index: int) -> _Found:
    found = partition_info(best, topic, index)
    assert found is not None, f"{topic}-{index} is gone from an image that nobody changed"
    info = found[1]
    usable = [each for each in info.replicas if _is_usable(live.get(each), found[0], topic, index)]
    leader = live.get(info.leader)
    seen = None if leader is None else inspect_partition(leader, topic, index)
    leadership = None if seen is None else seen.leadership
    return _Found(
        topic,
        index,
        info,
        eligible=tuple(f"n{each}" for each in (*info.isr, *info.elr) if each in usable),
        away=tuple(f"n{each}" for each in usable if each not in info.isr),
        is_writable=leadership is not None and len(usable) >= leadership.min_isr,
        is_proposing=leadership is not None and leadership.is_proposing,
    )


def _is_usable(node: Node | None, topic_id: bytes, topic: str, index: int) -> bool:
    """Whether the node lives, and no disk has taken its log of this partition offline."""
    seen = None if node is None else inspect_partition(node, topic, index)
    return seen is not None and seen.topic_id == topic_id and not seen.log.is_offline


def _told_of_absence(found: _Found, calm_s: float) -> str:
    waits = "; its leader waits for an answer to a proposal" if found.is_proposing else ""
    return (
        f"{list(found.away)} live and are not in sync with {found.name} {calm_s:.0f} s after the "
        f"last fault: the leader is n{found.info.leader} and the ISR {list(found.info.isr)}{waits}"
    )
