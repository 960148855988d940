"""Draws a schedule of faults from a seed: first which kinds this seed is about, then each fault.

Seeds differ in their mix (swarm testing): all kinds together all the time hide what needs one kind
often and another never. Faults stay within what a replicated log may be asked to survive: those
that take a node away take no more than a minority at once, and no two nodes lose their power before
the first has caught up. Crash points and cuts come on top, and may leave no majority for a while.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

from harness.decisions import Decisions
from harness.schedule.crash_points import CRASHABLE, CrashPoint
from harness.schedule.faults import (
    ClockJump,
    ClockSkew,
    Cut,
    DiskError,
    DiskFull,
    DiskSlow,
    Fault,
    Kill,
    Links,
    Pause,
    PowerLoss,
    SlowLinks,
    Stop,
    both_ways,
)
from harness.schedule.schedule import Schedule
from harness.sim.swarm_messages import (
    draw_group_faults,
    draw_message_faults,
    draw_transaction_faults,
)
from harness.sim.transaction_operations import protocol_of
from harness.wire.match import MessageFault

SHARE_OF_KINDS = 0.5
SETTLE_MS = 8_000.0
"""How long after a node's power is back no other may lose it: its replicas catch up meanwhile."""

_OUTAGES = (Kill, PowerLoss, Stop, Pause, DiskFull, DiskError)
_RARE = ("rename", "delete")
"""Crash points at these are drawn among the first few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What the faults may strike."""

    nodes: tuple[str, ...]
    clients: tuple[str, ...]
    begin_ms: float
    """Before it the cluster comes up in peace."""
    end_ms: float
    """All faults have ended by then."""
    groups: bool = False
    """Whether some clients are members of groups, so that their messages can be struck."""
    transactions: bool = False
    """Likewise, transactional clients."""

    @property
    def minority(self) -> int:
        return max(1, (len(self.nodes) - 1) // 2)


@dataclass(frozen=True, slots=True)
class Swarm:
    """What a seed is about: kinds of faults, and the mean time between two of them."""

    kinds: tuple[str, ...]
    gap_ms: float
    has_message_faults: bool
    has_crash_points: bool


def swarm_of(decisions: Decisions) -> Swarm:
    kinds = [k for k in _KINDS if decisions.of("swarm_mix", k).at(0) < SHARE_OF_KINDS]
    if not kinds:
        kinds = [decisions.random("swarm_mix", "only one").choice(list(_KINDS))]
    has_crash_points = decisions.of("swarm_mix", "crash points").at(0) < SHARE_OF_KINDS
    return Swarm(
        kinds=tuple(kinds),
        gap_ms=1000.0 * 8.0 ** decisions.of("swarm_gap", "").at(0),
        has_message_faults=decisions.of("swarm_mix", "message faults").at(0) < SHARE_OF_KINDS,
        has_crash_points=has_crash_points,
    )


def with_swarm(schedule: Schedule, setting: Setting) -> Schedule:
    """The schedule with the faults that its seed draws, in place of those it has."""
    decisions = Decisions(schedule.seed)
    swarm = swarm_of(decisions)
    points = _crash_points(decisions, setting) if swarm.has_crash_points else ()
    faults = _faults(decisions, swarm, setting, spare_power=bool(points))
    messages: tuple[MessageFault, ...] = ()
    if swarm.has_message_faults:
        messages = draw_message_faults(decisions, setting.nodes)
    if setting.groups:
        messages += draw_group_faults(decisions)
    if setting.transactions:
        messages += draw_transaction_faults(decisions, protocol_of(decisions))
    return replace(schedule, faults=faults, message_faults=messages, crash_points=points)


def _faults(
    decisions: Decisions, swarm: Swarm, setting: Setting, *, spare_power: bool
) -> tuple[Fault, ...]:
    """With `spare_power`, nobody loses power here: the crash points do that."""
    drawn: list[Fault] = []
    at_ms, number = setting.begin_ms, 0
    while True:
        number += 1
        # Each fault has a name and by it random numbers of its own.
        dice = decisions.random("swarm_fault", f"f{number}")
        at_ms += dice.expovariate(1.0 / swarm.gap_ms)
        if at_ms >= setting.end_ms:
            return tuple(drawn)
        kind = dice.choice(swarm.kinds)
        fault = _KINDS[kind](dice, f"f{number}", round(at_ms, 3), setting)
        if fault.for_ms is not None:
            for_ms = min(fault.for_ms, setting.end_ms - at_ms)
            fault = replace(fault, for_ms=round(for_ms, 3))
        if isinstance(fault, PowerLoss) and (spare_power or not _is_settled(fault, drawn)):
            fault = Kill(name=fault.name, at_ms=fault.at_ms, for_ms=fault.for_ms, node=fault.node)
        if _leaves_majority(fault, drawn, setting):
            drawn.append(fault)


def _leaves_majority(fault: Fault, drawn: Sequence[Fault], setting: Setting) -> bool:
    if not isinstance(fault, _OUTAGES):
        return True
    down = {
        other.node
        for other in drawn
        if isinstance(other, _OUTAGES) and other.at_ms + (other.for_ms or 0.0) > fault.at_ms
    }
    return fault.node not in down and len(down) < setting.minority


def _is_settled(fault: Fault, drawn: Sequence[Fault]) -> bool:
    return all(
        other.at_ms + (other.for_ms or 0.0) + SETTLE_MS <= fault.at_ms
        for other in drawn
        if isinstance(other, PowerLoss)
    )


def _crash_points(decisions: Decisions, setting: Setting) -> tuple[CrashPoint, ...]:
    """One node loses its power at a few of its operations; others are merely killed at theirs."""
    dice = decisions.random("swarm_crash_points", "")
    victims = dice.sample(setting.nodes, k=min(len(setting.nodes), setting.minority))
    points: list[CrashPoint] = []
    for node in victims:
        nth = dict.fromkeys(CRASHABLE, 0)
        for _ in range(dice.randint(1, 4)):
            operation = dice.choice(CRASHABLE)
            most = 1.0 if operation in _RARE else 2.0
            nth[operation] += int(10 ** dice.uniform(most - 1.5, most) + 1)
            points.append(
                CrashPoint(
                    node=node,
                    operation=operation,
                    nth=nth[operation],
                    when=dice.choice(("before", "after")),
                    how="power_loss" if node == victims[0] else "kill",
                    for_ms=round(dice.uniform(100.0, 4_000.0), 3),
                )
            )
    return tuple(points)


# One function for each kind


def _kill(dice: Random, name: str, at_ms: float, setting: Setting) -> Fault:
    node = dice.choice(setting.nodes)
    return Kill(name=name, at_ms=at_ms, for_ms=dice.uniform(100.0, 6_000.0), node=node)


def _stop(dice: Random, name: str, at_ms: float, setting: Setting) -> Fault:
    node = dice.choice(setting.nodes)
    return Stop(name=name, at_ms=at_ms, for_ms=dice.uniform(10.0, 6_000.0), node=node)


def _power_loss(dice: Random, name: str, at_ms: float, setting: Setting) -> Fault:
    return PowerLoss(
        name=name,
        at_ms=at_ms,
        for_ms=dice.uniform(100.0, 6_000.0),
        node=dice.choice(setting.nodes),
        torn=dice.random() < 0.8,
    )


def _pause(dice: Random, name: str, at_ms: float, setting: Setting) -> Fault:
    """Sometimes shorter than any session, sometimes longer than all."""
    for_ms = 10 ** dice.uniform(1.5, 4.1)
    return Pause(name=name, at_ms=at_ms, for_ms=for_ms, node=dice.choice(setting.nodes))


def _cut(dice: Random, name: str, at_ms: float, setting: Setting) -> Fault:
    links = dice.choice((_isolated, _halves, _one_way, _deaf_or_dumb, _client_cut))(dice, setting)
    return Cut(name=name, at_ms=at_ms, for_ms=10 ** dice.uniform(2.0, 4.1), links=links)


def _slow_links(dice: Random, name: str, at_ms: float, setting: Setting) -> Fault:
    return SlowLinks(
        name=name,
        at_ms=at_ms,
        for_ms=10 ** dice.uniform(3.0, 4.1),
        links=dice.choice((_isolated, _one_way, _deaf_or_dumb))(dice, setting),
        factor=round(10 ** dice.uniform(0.5, 2.0), 2),
        bytes_per_s=dice.choice((None, None, 10_000.0, 100_000.0)),
    )


def _clock_jump(dice: Random, name: str, at_ms: float, setting: Setting) -> Fault:
    by_ms = round(dice.choice((-1.0, 1.0)) * 10 ** dice.uniform(1.0, 6.5))
    return ClockJump(name=name, at_ms=at_ms, node=dice.choice(setting.nodes), by_ms=by_ms)


def _clock_skew(dice: Random, name: str, at_ms: float, setting: Setting) -> Fault:
    return ClockSkew(
        name=name,
        at_ms=at_ms,
        for_ms=10 ** dice.uniform(3.0, 4.3),
        node=dice.choice(setting.nodes),
        rate=round(dice.choice((0.5, 0.9, 0.99, 1.01, 1.1, 2.0)), 2),
    )


def _disk_slow(dice: Random, name: str, at_ms: float, setting: Setting) -> Fault:
    return DiskSlow(
        name=name,
        at_ms=at_ms,
        for_ms=10 ** dice.uniform(2.5, 4.0),
        node=dice.choice(setting.nodes),
        extra_ms=round(10 ** dice.uniform(0.5, 3.3), 3),
        operation=dice.choice(("*", "fdatasync", "replace")),
    )


def _disk_full(dice: Random, name: str, at_ms: float, setting: Setting) -> Fault:
    return DiskFull(
        name=name,
        at_ms=at_ms,
        for_ms=10 ** dice.uniform(3.0, 4.0),
        node=dice.choice(setting.nodes),
        spare_bytes=int(10 ** dice.uniform(0.0, 4.0)),
    )


def _disk_error(dice: Random, name: str, at_ms: float, setting: Setting) -> Fault:
    return DiskError(
        name=name,
        at_ms=at_ms,
        for_ms=10 ** dice.uniform(1.0, 3.5),
        node=dice.choice(setting.nodes),
        error=dice.choice(("EIO", "EIO", "ENOSPC")),
        operation=dice.choice(("*", "append", "fdatasync", "fdatasync", "replace", "create")),
        path=dice.choice(("*", "t-*", "__cluster_metadata*")),
    )


_KINDS: dict[str, Callable[[Random, str, float, Setting], Fault]] = {
    "kill": _kill,
    "stop": _stop,
    "power_loss": _power_loss,
    "pause": _pause,
    "cut": _cut,
    "slow_links": _slow_links,
    "clock_jump": _clock_jump,
    "clock_skew": _clock_skew,
    "disk_slow": _disk_slow,
    "disk_full": _disk_full,
    "disk_error": _disk_error,
}


# Which links a cut takes


def _isolated(dice: Random, setting: Setting) -> Links:
    node = dice.choice(setting.nodes)
    return both_ways(*((node, other) for other in setting.nodes if other != node))


def _halves(dice: Random, setting: Setting) -> Links:
    nodes = dice.sample(setting.nodes, k=len(setting.nodes))
    middle = len(nodes) // 2
    return both_ways(*((here, there) for here in nodes[:middle] for there in nodes[middle:]))


def _one_way(dice: Random, setting: Setting) -> Links:
    alone = len(setting.nodes) == 1
    hosts = (*setting.nodes, *setting.clients) if alone else setting.nodes
    here, there = dice.sample(hosts, k=2) if len(hosts) > 1 else (hosts[0], hosts[0])
    return ((here, there),)


def _deaf_or_dumb(dice: Random, setting: Setting) -> Links:
    """Nothing reaches the node, or nothing leaves it."""
    node = dice.choice(setting.nodes)
    others = [other for other in setting.nodes if other != node]
    if dice.random() < 0.5:
        return tuple((node, other) for other in others)
    return tuple((other, node) for other in others)


def _client_cut(dice: Random, setting: Setting) -> Links:
    if not setting.clients:
        return _one_way(dice, setting)
    return both_ways((dice.choice(setting.clients), dice.choice(setting.nodes)))
