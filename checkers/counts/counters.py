"""Counters, which are somewhere between all that may and all that must have been added; and ids."""

from __future__ import annotations

from collections.abc import Hashable

from checkers.columns import FAIL, OK
from checkers.counts.told import Found, judged
from checkers.linear.calls import Call, calls, canonical
from checkers.models import Question
from checkers.stored import StoredHistory, columns_of
from checkers.verdict import Verdict
from harness.history.history import History
from harness.history.json_text import shown


def counter(history: History | StoredHistory, question: Question) -> Verdict:
    """A read is at least the least, and at most the most, that may have been there at a moment of
    it: additions that had ended count, those that had begun by its end may, and failed ones do not.
    """
    columns = columns_of(history)
    initial = question.initial if isinstance(question.initial, int) else 0
    events: list[tuple[int, Call, bool]] = []
    for call in calls(columns, "add", "inc", "increment", "dec", "decrement", "read"):
        if call.outcome == FAIL:
            continue
        events.append((call.call, call, True))
        if call.ret is not None:
            events.append((call.row, call, False))
    # What has ended, and what has begun; of each, all that adds and all that takes away.
    ended, begun = [initial, initial], [initial, initial]
    bounds: dict[int, tuple[int, int]] = {}
    found: list[Found] = []
    reads = 0
    for _, call, begins in sorted(events, key=lambda event: event[0]):
        if call.f != "read":
            by = _by(call)
            (begun if begins else ended)[by < 0] += by
        elif call.outcome == OK and isinstance(call.value, int):
            if begins:
                bounds[call.row] = (ended[0], ended[1])
                continue
            reads += 1
            sure_more, sure_less = bounds[call.row]
            lower, upper = sure_more + begun[1] - initial, begun[0] + sure_less - initial
            if not lower <= call.value <= upper:
                sentence = (
                    f"a read returned {call.value} while the counter was between {lower} "
                    f"and {upper}"
                )
                # Of all that was added, what would be enough is not looked for.
                witness = {"value": call.value, "lower": lower, "upper": upper, "minimal": False}
                found.append(("out-of-bounds", (call.row,), sentence, witness))
    nothing = "" if reads else "the counter was never read"
    return judged(columns, found, {"reads": reads}, nothing)


def _by(call: Call) -> int:
    by = call.value if isinstance(call.value, int) else 1
    return -by if call.f.startswith("dec") else by


def unique_ids(history: History | StoredHistory, question: Question) -> Verdict:
    columns = columns_of(history)
    given: dict[Hashable, Call] = {}
    found: list[Found] = []
    attempts = 0
    for call in calls(columns, "generate"):
        attempts += 1
        if call.outcome != OK:
            continue
        value = canonical(call.value)
        if value in given:
            sentence = f"the id {shown(call.value)} was generated twice"
            rows = (given[value].row, call.row)
            found.append(("duplicate", rows, sentence, {"value": call.value}))
        else:
            given[value] = call
    stats = {"attempts": attempts, "acknowledged": len(given)}
    return judged(columns, found, stats, "" if given else "no id was generated")
