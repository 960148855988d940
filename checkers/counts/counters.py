"""Counters, which are somewhere between all that may and all that must have been added; and ids."""

from __future__ import annotations

from collections.abc import Hashable

from checkers.columns import FAIL, OK, Columns
from checkers.counts.told import Found, judged
from checkers.linear.calls import Call, calls, canonical
from checkers.models import Question
from checkers.results import Result
from harness.history.history import History


def counter(history: History, question: Question) -> Result:
    """A read is at least what had been added for certain when it began, and at most all that may
    have been when it ended; additions that take away count the other way."""
    columns = Columns(history)
    initial = question.initial if isinstance(question.initial, int) else 0
    lower = upper = initial
    events: list[tuple[int, Call, bool]] = []
    for call in calls(columns, "add", "inc", "increment", "dec", "decrement", "read"):
        events.append((call.call, call, True))
        if call.ret is not None:
            events.append((call.row, call, False))
    bounds: dict[int, int] = {}
    found: list[Found] = []
    reads = 0
    for _, call, begins in sorted(events, key=lambda event: event[0]):
        if call.f == "read":
            if call.outcome != OK or not isinstance(call.value, int):
                continue
            if begins:
                bounds[call.row] = lower
                continue
            reads += 1
            if not bounds[call.row] <= call.value <= upper:
                sentence = (
                    f"a read gave {call.value}, when the counter was between {bounds[call.row]} "
                    f"and {upper}"
                )
                witness = {"value": call.value, "lower": bounds[call.row], "upper": upper}
                found.append(("out-of-bounds", (call.row,), sentence, witness))
        elif call.outcome != FAIL:
            by = _by(call)
            if begins:
                upper += max(by, 0)
                lower += min(by, 0)
            else:
                lower += max(by, 0)
                upper += min(by, 0)
    nothing = "" if reads else "the counter was never read"
    return judged(columns, question, found, {"reads": reads}, nothing)


def _by(call: Call) -> int:
    by = call.value if isinstance(call.value, int) else 1
    return -by if call.f.startswith("dec") else by


def unique_ids(history: History, question: Question) -> Result:
    columns = Columns(history)
    given: dict[Hashable, Call] = {}
    found: list[Found] = []
    attempts = 0
    for call in calls(columns, "generate"):
        attempts += 1
        if call.outcome != OK:
            continue
        value = canonical(call.value)
        if value in given:
            sentence = f"the id {call.value!r} was given to two"
            rows = (given[value].row, call.row)
            found.append(("duplicate", rows, sentence, {"value": call.value}))
        else:
            given[value] = call
    stats = {"attempts": attempts, "acknowledged": len(given)}
    return judged(columns, question, found, stats, "" if given else "no id was given")
