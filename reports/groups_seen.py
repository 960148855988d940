"""What the history of a real run shows of its consumer groups, counted.

The simulator's trace has every event of a coordinator. Real nodes are not asked for theirs, so
these counts are what clients and faults saw, and lower bounds: a generation that assigned nothing
to anybody, or a coordinator that moved because its node was killed, is not among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.history.op import NEMESIS, Op
from reports.calls import Calls
from reports.group_rows import group_rows, replacements
from reports.ownership import Group, groups_of

_GROUPS_TOPIC = "__consumer_offsets"


@dataclass(frozen=True, slots=True)
class GroupsSeen:
    generations: int
    """Generations and member epochs in which a member was assigned something."""
    fenced: int
    """Members that learned that they had been removed (`lost`)."""
    coordinator_moves: int
    """Moves of a coordinator's partition that were proved."""
    commits_refused: int
    """Commits refused because the member was removed or its generation is over."""


def groups_seen(calls: Calls, clients: int) -> GroupsSeen | None:
    """None if no client was a member of a group. `clients` is the plan's concurrency."""
    rows = list(group_rows(calls))
    if not rows:
        return None
    groups = groups_of(rows, clients, calls.end_of_all_ns, replacements(calls, clients))
    return GroupsSeen(
        generations=sum(len(_generations(group)) for group in groups),
        fenced=_events(groups, "lost"),
        coordinator_moves=_proved_moves(rows),
        commits_refused=_events(groups, "refused"),
    )


def _generations(group: Group) -> set[int]:
    return {
        owned.generation
        for member in group.members.values()
        for owned in member.owned
        if owned.generation is not None
    }


def _events(groups: Sequence[Group], kind: str) -> int:
    return sum(
        event.kind == kind
        for group in groups
        for member in group.members.values()
        for event in member.events
    )


def _proved_moves(rows: Sequence[Op]) -> int:
    faults: set[str] = set()
    proved = 0
    for op in rows:
        if op.process != NEMESIS or not isinstance(op.value, dict):
            continue
        if op.value.get("kind") == "move_leader" and op.value.get("topic") == _GROUPS_TOPIC:
            faults.add(str(op.value.get("name")))
        elif "proof" in op.value:
            proved += op.value.get("fault") in faults
    return proved
