"""The states of the replication protocol that a run can reach, counted for every run.

A valid run that never saw an election or a replica out of sync proves little. The list is declared
here once; results.json keeps the counts, and the page says what was never reached.
A count is None where the place does not show the state: only the simulator sees every event. States
of consumer groups are counted from the history in a real run, and are lower bounds there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from reports.groups_seen import GroupsSeen
from reports.leading import Leading, Reign, load_leading
from reports.traced import Trace
from reports.transactions_seen import TransactionsSeen

_GROUPS_TOPIC = "__consumer_offsets-"


@dataclass(frozen=True, slots=True)
class Seen:
    """What a run shows of its cluster."""

    leading: Leading | None
    trace: Trace | None
    groups: GroupsSeen | None = None
    """What clients saw of consumer groups, if there were any."""
    transactions: TransactionsSeen | None = None
    """What clients saw of their transactions, if there were any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolState:
    name: str
    about: str
    """What the page calls it where it was never reached."""
    count: Callable[[Seen], int | None]
    is_highest: bool = False
    """Whether counts of several runs are compared and not added."""


def _of_leading(count: Callable[[Leading], int]) -> Callable[[Seen], int | None]:
    return lambda seen: None if seen.leading is None else count(seen.leading)


def _of_trace(kind: str) -> Callable[[Seen], int | None]:
    return lambda seen: None if seen.trace is None else seen.trace.count(kind)


def _of_groups(
    by_trace: Callable[[Trace], int], by_history: Callable[[GroupsSeen], int]
) -> Callable[[Seen], int | None]:
    """None for a run without consumer groups: nothing is missing there."""

    def counted(seen: Seen) -> int | None:
        if seen.trace is None:
            return None if seen.groups is None else by_history(seen.groups)
        return by_trace(seen.trace) if _coordinators(seen.trace.leading) else None

    return counted


def _of_transactions(count: Callable[[TransactionsSeen], int]) -> Callable[[Seen], int | None]:
    """None for a run without transactions: nothing is missing there."""
    return lambda seen: None if seen.transactions is None else count(seen.transactions)


def _coordinators(leading: Leading) -> list[Sequence[Reign]]:
    """Who led each partition of the groups' own topic."""
    return [own for key, own in leading.reigns.items() if key.startswith(_GROUPS_TOPIC)]


def _coordinator_moves(trace: Trace) -> int:
    return sum(max(0, len(own) - 1) for own in _coordinators(trace.leading))


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
        is_highest=True,
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
        is_highest=True,
    ),
    ProtocolState(
        name="truncations",
        about="a log cut back to its leader's",
        count=_of_trace("truncate"),
    ),
    ProtocolState(
        name="rebalances",
        about="a rebalance of a consumer group",
        count=_of_groups(lambda trace: trace.generations, lambda seen: seen.generations),
    ),
    ProtocolState(
        name="members-fenced",
        about="a fenced member of a consumer group",
        count=_of_groups(lambda trace: trace.count("fenced"), lambda seen: seen.fenced),
    ),
    ProtocolState(
        name="coordinator-moves",
        about="a group coordinator that moves",
        count=_of_groups(_coordinator_moves, lambda seen: seen.coordinator_moves),
    ),
    ProtocolState(
        name="zombie-commits-refused",
        about="a refused commit of a member that was replaced",
        count=_of_groups(
            lambda trace: trace.count("commit_refused"), lambda seen: seen.commits_refused
        ),
    ),
    ProtocolState(
        name="transactions-committed",
        about="a committed transaction",
        count=_of_transactions(lambda seen: seen.committed),
    ),
    ProtocolState(
        name="transactions-aborted",
        about="a transaction that its client aborted",
        count=_of_transactions(lambda seen: seen.aborted),
    ),
    ProtocolState(
        name="transactions-timed-out",
        about="a transaction that took longer than its time-out",
        count=_of_transactions(lambda seen: seen.timed_out),
    ),
    ProtocolState(
        name="producers-fenced",
        about="a fenced transactional producer",
        count=_of_transactions(lambda seen: seen.fenced),
    ),
    ProtocolState(
        name="transaction-coordinator-moves",
        about="a transaction coordinator that moves",
        count=_of_transactions(lambda seen: seen.coordinator_moves),
    ),
)


def count_states(
    directory: Path,
    end_ns: int,
    groups: GroupsSeen | None = None,
    transactions: TransactionsSeen | None = None,
) -> dict[str, int | None]:
    """By state, from the files of a run. `end_ns` ends the history, from which `groups` and
    `transactions` are."""
    trace = Trace.load(directory)
    leading = load_leading(directory, end_ns) if trace is None else trace.leading
    return counted(Seen(leading, trace, groups, transactions))


def counted(seen: Seen) -> dict[str, int | None]:
    return {state.name: state.count(seen) for state in STATES}


def never_reached(counts: dict[str, int | None]) -> list[str]:
    """What the place shows and the run did not reach, in words."""
    return [state.about for state in STATES if counts.get(state.name) == 0]


def total(runs: Iterable[Mapping[str, int | None]]) -> list[str]:
    """A line for each state that a run of several has shown, with its sum, or its highest value."""
    lines: list[str] = []
    every = list(runs)
    for state in STATES:
        shown = [count for run in every if (count := run.get(state.name)) is not None]
        if shown:
            amount = max(shown) if state.is_highest else sum(shown)
            reached = sum(count > 0 for count in shown)
            lines.append(f"{state.name:28}{amount:>10,}  in {reached} of {len(shown)} runs")
    return lines
