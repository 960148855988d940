"""Queues and stacks into which every value is put once: linearizable or not without a search.

A value is certainly inside from the end of its put to the call of its take. Where nothing is
certainly inside, the pile can be empty, whatever it is; a take that found nothing needs such a
moment. Whether the values fit together is then a matter of their order:

* Queues: a value is before another if its put ended before the other's began, or its take. Two that
  are each before the other are the only obstruction, for both relations are interval orders: of any
  longer circle two links can be cut short.
* Stacks: a value whose put and take overlap can come and go in between anything. Others fall apart
  at every moment at which nothing is certainly inside. What hangs together needs a value that can
  lie below all the rest: put before any other was, taken after all were asked for. Whichever can,
  may; it is taken out, and the rest looked at again. Quadratic at worst.

Takes of unknown outcome may have taken any value or none. A queue gives them the values that had to
be taken, by the earliest deadline; where a take found nothing as well, and in stacks, that is left
to the search.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from checkers.arrays import Bools, Ints64
from checkers.linear.calls import Call
from checkers.linear.search import Outcome

NEVER = 1 << 60
NOTHING = "null"


@dataclass(frozen=True, slots=True)
class Pile:
    """What was done to one queue or stack."""

    puts: list[tuple[Call, Hashable]] = field(default_factory=list)
    takes: list[tuple[Call, Hashable]] = field(default_factory=list)
    empties: list[Call] = field(default_factory=list)
    unsure: list[Call] = field(default_factory=list)
    """Takes of which nobody knows what they took."""

    def is_decided(self, *, first: bool) -> bool:
        """Whether no search is needed."""
        values = [value for _, value in self.puts]
        if len(set(values)) < len(values) or NOTHING in values:
            return False
        return not self.unsure or (first and not self.empties)


class _Values:
    """Values that went in, with their times."""

    def __init__(self, pile: Pile) -> None:
        taken = {value: call for call, value in pile.takes}
        kept = [
            (call, taken.get(value))
            for call, value in pile.puts
            # A put that nobody ever heard of, and whose value nobody saw, need not have been.
            if call.ret is not None or value in taken
        ]
        self.put = [put for put, _ in kept]
        self.take = [take for _, take in kept]
        self.put_call = np.array([put.call for put in self.put], np.int64)
        self.put_end = np.array([_end(put) for put in self.put], np.int64)
        self.take_call = np.array(
            [NEVER if take is None else take.call for take in self.take], np.int64
        )
        self.take_end = np.array(
            [NEVER + 1 if take is None else _end(take) for take in self.take], np.int64
        )

    @property
    def was_taken(self) -> Bools:
        taken: Bools = self.take_call < NEVER
        return taken


def _end(call: Call) -> int:
    return NEVER if call.ret is None else call.ret


def decided(pile: Pile, *, first: bool) -> Outcome:
    """`first`: the first that came in goes out first."""
    size = len(pile.puts) + len(pile.takes) + len(pile.empties) + len(pile.unsure)
    fault = _strange(pile)
    if fault is None:
        values = _Values(pile)
        fault = _never_empty(pile, values)
        if fault is None:
            fault = _out_of_order(pile, values) if first else _entangled(values)
    if fault is None:
        return Outcome(True, size)
    return Outcome(
        False, size, max(fault.calls, key=_end), tuple(fault.calls), fault.reason, fault.minimal
    )


class Fault(NamedTuple):
    calls: Sequence[Call]
    reason: str
    minimal: bool = True
    """Whether fewer prove nothing: by the time that longer faults are looked for, the shorter ones
    were not found."""


def _strange(pile: Pile) -> Fault | None:
    """Values that never came in, or came out twice, or too early; the first of the shortest."""
    puts = {value: call for call, value in pile.puts}
    seen: dict[Hashable, Call] = {}
    found: list[Fault] = []
    for call, value in pile.takes:
        if value not in puts:
            found.append(Fault([call], "no process had put it there"))
            continue
        if value in seen:
            found.append(Fault([seen[value], call], "it had already been taken"))
        if _end(call) < puts[value].call:
            found.append(Fault([call, puts[value]], "it was put there only later"))
        seen.setdefault(value, call)
    return min(found, key=_shortest, default=None)


def _shortest(fault: Fault) -> tuple[int, list[int]]:
    return len(fault.calls), sorted(call.row for call in fault.calls)


def _never_empty(pile: Pile, values: _Values) -> Fault | None:
    """A take that found nothing, though all the time something was there."""
    inside = np.flatnonzero(values.put_end < values.take_call)
    inside = inside[np.argsort(values.put_end[inside], kind="stable")]
    if not inside.size:
        return None
    starts, ends = values.put_end[inside], np.maximum.accumulate(values.take_call[inside])
    begins = np.append(True, starts[1:] > ends[:-1])
    # The end of each stretch in which something was always there.
    until = ends[np.append(np.flatnonzero(begins)[1:], starts.size) - 1][np.cumsum(begins) - 1]
    for call in pile.empties:
        place = int(np.searchsorted(starts, call.call)) - 1
        if place >= 0 and ends[place] > call.call and until[place] > _end(call):
            calls = [call, *_there(values, inside, call)]
            # Another that found nothing may have had fewer values there.
            return Fault(calls, "it was never empty in that time", minimal=len(calls) == 2)
    return None


def _there(values: _Values, inside: Ints64, empty: Call) -> Iterator[Call]:
    """Of the fewest values that were there from the call of a take to its end; `inside` is sorted
    by the end of puts. Each time, of those that were there by then, the one that stayed longest."""
    reached = empty.call
    while reached <= _end(empty):
        before = inside[: int(np.searchsorted(values.put_end[inside], reached))]
        which = int(before[np.argmax(values.take_call[before])])
        yield values.put[which]
        take = values.take[which]
        if take is not None:
            yield take
        reached = int(values.take_call[which])


def _out_of_order(pile: Pile, values: _Values) -> Fault | None:
    """Two of which one came in first for certain, and out last for certain."""
    taken = np.flatnonzero(values.was_taken)
    fault = _left_behind(pile, values, taken)
    if fault is not None or not taken.size:
        return fault
    by_put = taken[np.argsort(values.put_end[taken], kind="stable")]
    latest = np.maximum.accumulate(values.take_call[by_put])
    before = np.searchsorted(values.put_end[by_put], values.put_call[taken]) - 1
    wrong = np.flatnonzero((before >= 0) & (latest[before] > values.take_end[taken]))
    if not wrong.size:
        return None
    worst = wrong[np.argmin(values.take_end[taken[wrong]])]
    later = int(taken[worst])
    older = int(
        by_put[: before[worst] + 1][np.argmax(values.take_call[by_put[: before[worst] + 1]])]
    )
    return Fault(
        _both(values, older, later), "it was put there before what had been taken before it"
    )


def _left_behind(pile: Pile, values: _Values, taken: Ints64) -> Fault | None:
    """Values that nobody is known to have taken, though one that came in after them was: each needs
    one of the takes of unknown outcome, called before that one's take ended."""
    left = np.flatnonzero(~values.was_taken)
    by_call = taken[np.argsort(values.put_call[taken], kind="stable")]
    soonest = np.append(
        np.minimum.accumulate(values.take_end[by_call][::-1])[::-1], np.int64(NEVER)
    )
    after = np.searchsorted(values.put_call[by_call], values.put_end[left], side="right")
    deadline = soonest[after]
    needed = np.argsort(deadline, kind="stable")
    needed = needed[deadline[needed] < NEVER]
    called = sorted(call.call for call in pile.unsure)
    for number, which in enumerate(needed.tolist()):
        if number < len(called) and called[number] < deadline[which]:
            continue
        later = next(
            int(one) for one in by_call[after[which] :] if values.take_end[one] == deadline[which]
        )
        # That takes of unknown outcome were too few for the older ones, these do not show.
        return Fault(
            _both(values, int(left[which]), later),
            "an older one was never taken",
            minimal=not pile.unsure,
        )
    return None


def _both(values: _Values, older: int, later: int) -> list[Call]:
    calls = (values.put[older], values.put[later], values.take[later], values.take[older])
    return [call for call in calls if call is not None]


def _entangled(values: _Values) -> Fault | None:
    """Values that hang together, none of which can lie below the rest."""
    inside = np.flatnonzero(values.put_end < values.take_call)
    work = [inside[np.argsort(values.put_end[inside], kind="stable")]]
    while work:
        mine = work.pop()
        if mine.size < 2:
            continue
        ends = np.maximum.accumulate(values.take_call[mine])
        cuts = np.flatnonzero(values.put_end[mine][1:] > ends[:-1]) + 1
        if cuts.size:
            work += np.split(mine, cuts)
            continue
        below = (values.put_call[mine] < _least_of_others(values.put_end[mine])) & (
            values.take_end[mine] > -_least_of_others(-values.take_call[mine])
        )
        if not below.any():
            last = int(mine[np.argmin(values.take_end[mine])])
            put, take = values.put[last], values.take[last]
            assert take is not None
            return Fault(
                [put, take],
                "no value can have been below all that were there with it",
                minimal=False,
            )
        work.append(mine[~below])
    return None


def _least_of_others(column: Ints64) -> Ints64:
    """For each, the least of all but it."""
    at = int(np.argmin(column))
    least = np.full(column.size, column[at])
    least[at] = np.delete(column, at).min()
    return least
