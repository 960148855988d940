"""Queues without an order: what is dequeued was enqueued, once, and in the end nothing is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from checkers.columns import INFO, OK
from checkers.counts.told import Found, judged
from checkers.linear.calls import Call, calls, canonical
from checkers.models import Question
from checkers.results import Result
from checkers.stored import StoredHistory, columns_of
from harness.history.history import History


def _dequeued(call: Call) -> list[Hashable]:
    """A drain takes many at once."""
    if call.f == "drain":
        return [canonical(value) for value in call.value or []]
    return [] if call.value is None else [canonical(call.value)]


def queue(history: History | StoredHistory, question: Question) -> Result:
    """Nothing comes out that did not go in, or more often than it went in: enqueues are counted
    when they are invoked, dequeues when they are ok."""
    columns = columns_of(history)
    events: list[tuple[int, int, Call]] = []
    for call in calls(columns, "enqueue", "dequeue", "drain"):
        if call.f == "enqueue" and call.outcome in (OK, INFO):
            events.append((call.call, 0, call))
        elif call.f != "enqueue" and call.outcome == OK:
            events.append((call.row, 1, call))
    inside: Counter[Hashable] = Counter()
    found: list[Found] = []
    taken = 0
    for _, is_out, call in sorted(events, key=lambda event: event[:2]):
        if not is_out:
            inside[canonical(call.value)] += 1
            continue
        for value in _dequeued(call):
            taken += 1
            if inside[value]:
                inside[value] -= 1
            else:
                sentence = f"{value!r} was dequeued and was not in the queue"
                found.append(("unexpected", (call.row,), sentence, {"value": value}))
    nothing = "" if taken else "nothing was dequeued"
    return judged(columns, found, {"events": len(events)}, nothing)


def total_queue(history: History | StoredHistory, question: Question) -> Result:
    """What goes in must come out; only a history that drains the queue can tell."""
    columns = columns_of(history)
    tried: Counter[Hashable] = Counter()
    acked: Counter[Hashable] = Counter()
    out: Counter[Hashable] = Counter()
    rows: dict[Hashable, int] = {}
    for call in calls(columns, "enqueue", "dequeue", "drain"):
        if call.f == "enqueue":
            value = canonical(call.value)
            tried[value] += 1
            acked[value] += call.outcome == OK
            rows.setdefault(value, call.row)
        elif call.outcome == OK or call.f == "drain":
            for value in _dequeued(call):
                out[value] += 1
                rows.setdefault(value, call.row)
    found: list[Found] = []
    for value in rows:
        witness = {"value": value}
        if out[value] and not tried[value]:
            sentence = f"{value!r} was dequeued, and nobody enqueued it"
            found.append(("unexpected", (rows[value],), sentence, witness))
        elif acked[value] > out[value]:
            sentence = f"{value!r} was enqueued and never dequeued"
            found.append(("lost", (rows[value],), sentence, witness))
    # As in Jepsen, a record that comes out twice is told of and no fault of a queue.
    doubles = sum(max(0, out[value] - tried[value]) for value in tried)
    recovered = sum(
        min(out[value], tried[value]) - min(out[value], acked[value]) for value in tried
    )
    stats = {"attempts": tried.total(), "duplicated": doubles, "recovered": recovered}
    nothing = "" if tried and out else "nothing was enqueued and dequeued"
    return judged(columns, found, stats, nothing)
