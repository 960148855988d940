"""Draws what the members of two consumer groups do: join, consume, stall, leave, come back.

One group speaks the classic protocol, one that of KIP-848. A member that stalls longer than its
session is a zombie: the group goes on without it, and it commits as if nothing had happened.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.decisions import Decisions
from harness.schedule.schedule import Operation

GROUPS = ("classic", "consumer")
_STRATEGIES = ("range", "cooperative")
_STATIC = 1 / 3
"""Share of the members that are static."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """How much the members of each group do."""

    of_each_group: int = 3
    consumes_per_s: float = 2.0
    """Of one member, as are the following."""
    stalls_per_s: float = 0.06
    absences_per_s: float = 0.06
    coordinator_moves_per_s: float = 0.2
    begin_ms: float
    end_ms: float

    @property
    def clients(self) -> tuple[str, ...]:
        members = [
            f"{group}{number}" for group in GROUPS for number in range(1, self.of_each_group + 1)
        ]
        return (*members, "coordinator-mover")


def draw_member_operations(
    decisions: Decisions, members: Members
) -> dict[str, tuple[Operation, ...]]:
    strategies = {
        "classic": decisions.random("member_strategy", "classic").choice(_STRATEGIES),
        "consumer": "consumer",
    }
    drawn = {
        client: _of_member(decisions, client, group, strategies[group], members)
        for client in members.clients
        for group in GROUPS
        if client.startswith(group)
    }
    mover = members.clients[-1]
    which = decisions.of("replica", mover)
    drawn[mover] = tuple(
        Operation(
            at_ms=at_ms, do="move_coordinator", arguments={"replica": int(which.at(number) * 1000)}
        )
        for number, at_ms in enumerate(
            _moments(decisions, mover, members, members.coordinator_moves_per_s)
        )
    )
    return drawn


def _of_member(
    decisions: Decisions, client: str, group: str, strategy: str, members: Members
) -> tuple[Operation, ...]:
    dice = decisions.random("member", client)
    arguments: dict[str, object] = {"group": group, "strategy": strategy}
    if dice.random() < _STATIC:
        arguments["instance"] = client
    # The first join is among the first seconds, so that groups fill one by one.
    begin_ms = round(members.begin_ms + dice.uniform(0.0, 3_000.0), 3)
    drawn = [Operation(at_ms=begin_ms, do="join", arguments=arguments)]
    for at_ms in _moments(decisions, f"{client} consumes", members, members.consumes_per_s):
        drawn.append(Operation(at_ms=at_ms, do="consume", arguments={}))
    for at_ms in _moments(decisions, f"{client} stalls", members, members.stalls_per_s):
        for_ms = round(10 ** dice.uniform(2.5, 4.2), 3)
        drawn.append(Operation(at_ms=at_ms, do="stall", arguments={"for_ms": for_ms}))
    for at_ms in _moments(decisions, f"{client} leaves", members, members.absences_per_s):
        back_ms = round(at_ms + dice.uniform(10.0, 4_000.0), 3)
        drawn.append(Operation(at_ms=at_ms, do="leave", arguments={}))
        drawn.append(Operation(at_ms=back_ms, do="join", arguments=arguments))
    return tuple(sorted(drawn, key=lambda operation: operation.at_ms))


def _moments(decisions: Decisions, name: str, members: Members, per_s: float) -> list[float]:
    span_ms = members.end_ms - members.begin_ms
    at = decisions.of("moment", name)
    return sorted(
        round(members.begin_ms + at.at(number) * span_ms, 3)
        for number in range(int(span_ms / 1000 * per_s))
    )
