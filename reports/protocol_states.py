"""The states of the replication protocol that a run can reach, counted for every run.

A valid run that never saw an election or a replica out of sync proves little. The list is declared
here once; results.json keeps the counts, and the page says what was never reached.
A count is None where the place does not show the state: only the simulator sees every event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from reports.leading import Leading, Reign, load_leading
from reports.traced import Trace


@dataclass(frozen=True, slots=True)
class Seen:
    """What a run shows of its cluster."""

    leading: Leading | None
    trace: Trace | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolState:
    name: str
    about: str
    """What the page calls it where it was never reached."""
    count: Callable[[Seen], int | None]


def _of_leading(count: Callable[[Leading], int]) -> Callable[[Seen], int | None]:
    return lambda seen: None if seen.leading is None else count(seen.leading)


def _of_trace(kind: str) -> Callable[[Seen], int | None]:
    return lambda seen: None if seen.trace is None else seen.trace.count(kind)


def _highest_epoch(leading: Leading) -> int:
    return max((reign.epoch for own in leading.reigns.values() for reign in own), default=0)


def _leaderless(leading: Leading) -> int:
    return sum(map(_gaps, leading.reigns.values()))


def _gaps(reigns: Sequence[Reign]) -> int:
    return sum(one.end_ns < other.begin_ns for one, other in pairwise(reigns))


def _shrinks(leading: Leading) -> int:
    before: dict[str, int] = {}
    shrinks = 0
    for each in leading.missing:
        shrinks += each.count > before.get(each.key, 0)
        before[each.key] = each.count
    return shrinks


def _most_missing(leading: Leading) -> int:
    return max((each.count for each in leading.missing), default=0)


STATES: tuple[ProtocolState, ...] = (
    ProtocolState(
        name="elections",
        about="a change of leader",
        count=_of_leading(lambda leading: leading.elections),
    ),
    ProtocolState(
        name="highest-leader-epoch",
        about="a second leader epoch",
        count=_of_leading(_highest_epoch),
    ),
    ProtocolState(
        name="leaderless",
        about="a partition without a leader",
        count=_of_leading(_leaderless),
    ),
    ProtocolState(
        name="controller-changes",
        about="a change of controller",
        count=_of_leading(lambda leading: max(0, len(leading.controllers) - 1)),
    ),
    ProtocolState(
        name="isr-shrinks",
        about="a replica out of sync",
        count=_of_leading(_shrinks),
    ),
    ProtocolState(
        name="most-out-of-sync",
        about="a partition with replicas out of sync",
        count=_of_leading(_most_missing),
    ),
    ProtocolState(
        name="truncations",
        about="a log cut back to its leader's",
        count=_of_trace("truncate"),
    ),
)


def count_states(directory: Path, end_ns: int) -> dict[str, int | None]:
    """By state, from the files of a run. `end_ns` ends the history."""
    trace = Trace.load(directory)
    leading = load_leading(directory, end_ns) if trace is None else trace.leading
    return counted(Seen(leading, trace))


def counted(seen: Seen) -> dict[str, int | None]:
    return {state.name: state.count(seen) for state in STATES}


def never_reached(counts: dict[str, int | None]) -> list[str]:
    """What the place shows and the run did not reach, in words."""
    return [state.about for state in STATES if counts.get(state.name) == 0]
