"""Queues without an order: what is dequeued was enqueued, once, and in the end nothing is left."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

from checkers.columns import INFO, OK
from checkers.counts.told import Found, judged
from checkers.findings import SHOWN
from checkers.linear.calls import Call, calls, canonical
from checkers.models import Question
from checkers.stored import StoredHistory, columns_of
from checkers.verdict import Verdict
from harness.history.history import History
from harness.history.json_text import shown


def _dequeued(call: Call) -> list[Any]:
    """A drain takes many at once."""
    if call.f == "drain":
        return list(call.value or [])
    return [] if call.value is None else [call.value]


def queue(history: History | StoredHistory, question: Question) -> Verdict:
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
    rows: defaultdict[Hashable, list[int]] = defaultdict(list)
    wrong: Counter[Hashable] = Counter()
    found: list[Found] = []
    taken = 0
    for _, is_out, call in sorted(events, key=lambda event: event[:2]):
        for value in _dequeued(call) if is_out else [call.value]:
            name = canonical(value)
            rows[name].append(call.row)
            inside[name] += -1 if is_out else 1
            taken += is_out
            if inside[name] < 0:
                inside[name] = 0
                wrong[name] += 1
                # Of a value that comes again and again, what is not shown takes no proof with it.
                proof = tuple(rows[name]) if wrong[name] <= SHOWN else (call.row,)
                sentence = f"{shown(value)} was dequeued while it was not in the queue"
                found.append(("unexpected", proof, sentence, {"value": value}))
    nothing = "" if taken else "nothing was dequeued"
    return judged(columns, found, {"events": len(events)}, nothing)


@dataclass(slots=True)
class _Fate:
    """What was done with one value."""

    value: Any
    tried: int = 0
    acked: list[int] = field(default_factory=list)
    out: list[int] = field(default_factory=list)
    """Rows."""


def total_queue(history: History | StoredHistory, question: Question) -> Verdict:
    """What goes in must come out; only a history that drains the queue can tell."""
    columns = columns_of(history)
    fates: dict[Hashable, _Fate] = {}
    for call in calls(columns, "enqueue", "dequeue", "drain"):
        if call.f == "enqueue":
            fate = fates.setdefault(canonical(call.value), _Fate(call.value))
            fate.tried += 1
            fate.acked += [call.row] if call.outcome == OK else []
        elif call.outcome == OK or call.f == "drain":
            for value in _dequeued(call):
                fates.setdefault(canonical(value), _Fate(value)).out.append(call.row)
    found = [wrong for fate in fates.values() for wrong in _wrongs(fate)]
    tried = [fate for fate in fates.values() if fate.tried]
    # As in Jepsen, a record that comes out twice is told of and no fault of a queue.
    doubles = sum(max(0, len(fate.out) - fate.tried) for fate in tried)
    recovered = sum(
        min(len(fate.out), fate.tried) - min(len(fate.out), len(fate.acked)) for fate in tried
    )
    attempts = sum(fate.tried for fate in tried)
    stats = {"attempts": attempts, "duplicated": doubles, "recovered": recovered}
    out = any(fate.out for fate in fates.values())
    nothing = "" if tried and out else "nothing was enqueued and dequeued"
    return judged(columns, found, stats, nothing)


def _wrongs(fate: _Fate) -> Iterator[Found]:
    said, witness = shown(fate.value), {"value": fate.value}
    if fate.out and not fate.tried:
        sentence = f"{said} was dequeued, and no process enqueued it"
        yield "unexpected", fate.out[:1], sentence, witness
    elif len(fate.acked) > len(fate.out):
        often = f"only {len(fate.out)} of {len(fate.acked)} times" if fate.out else "never"
        sentence = f"{said} was enqueued and {often} dequeued"
        yield "lost", (*fate.acked, *fate.out), sentence, witness
