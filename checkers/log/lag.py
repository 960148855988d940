"""stale-read: how far behind a poll was, in time, and whether that is more than was asked for.

Jepsen's realtime lag: the time from the moment at which the record after the last one that a
process has read was known to exist, until its poll was invoked that still did not show it. A
process reads the keys that it was assigned, from the start or from the offset set; a key that its
group gave it, from the first record on that it polls. It is judged only if a bound was
asked for: a consumer is behind by nature. The worst lag is told in any case, but of histories so
long that the looking costs more than the answer is worth.
"""

from __future__ import annotations

import numpy as np

from checkers.arrays import Ints8, Ints32, Ints64
from checkers.checker import Checker
from checkers.clauses import never
from checkers.findings import SHOWN, Finding, Findings
from checkers.kernels import lag as kernels
from checkers.log.facts import LogFacts
from checkers.log.words import key_text, who
from harness.history import kinds

_NS_PER_MS = 1_000_000
_UNASKED_MOST = 1 << 22
"""Elements of a history whose worst lag is told though nobody asked for a bound."""
_NO_BOUND = "no bound was given; harness check --stale-bound sets one"


def stale_reads(facts: LogFacts, *, bound_ms: float | None = None) -> Findings:
    columns, slots = facts.columns, facts.slots
    if bound_ms is None and facts.number.size > _UNASKED_MOST:
        return Findings(nothing=_NO_BOUND)
    known = np.full(slots.held.size, -1, np.int32)
    spans = (columns.outcome, facts.begin, facts.end)
    kernels.first_known(*spans, facts.cells, facts.committed, facts.shift, slots.start, known)
    placed, places = _positions(facts)
    found = np.zeros((SHOWN, 3), np.int64)
    worst = np.array([0, -1, -1, -1], np.int64)
    keys, processes = max(1, facts.key_count), max(1, columns.ops.numbers.size)
    asked, count = kernels.lags(
        columns.outcome,
        columns.ops.process,
        _moves(facts),
        columns.call,
        columns.ops.time_ns,
        facts.begin,
        facts.end,
        columns.elements.kind,
        columns.elements.key,
        facts.offset,
        facts.shift,
        slots.start,
        facts.floors,
        known,
        placed,
        places,
        np.full(processes * keys, kernels.WAITING, np.int64),
        np.empty(keys, np.int64),
        -1 if bound_ms is None else round(bound_ms * _NS_PER_MS),
        found,
        worst,
    )
    told = [_told(facts, known, bound_ms or 0.0, *map(int, one)) for one in found[:count]]
    return Findings(
        found=tuple(told),
        count=count,
        looked_at=asked if bound_ms is not None else 0,
        nothing=_NO_BOUND if bound_ms is None else "no poll recorded its offset",
        stats={"worst-realtime-lag": _worst(facts, worst)},
    )


def _moves(facts: LogFacts) -> Ints8:
    columns = facts.columns
    moves = np.zeros(columns.ops.index.size, np.int8)
    moves[columns.has_f("assign")] = kernels.ASSIGNS
    moves[columns.has_f("subscribe")] = kernels.SUBSCRIBES
    moves[columns.has_f("assigned")] = kernels.GIVES
    moves[columns.has_f("revoked", "lost")] = kernels.TAKES
    return moves


def _positions(facts: LogFacts) -> tuple[Ints64, Ints64]:
    """Elements that set a position, and the slots they set it to."""
    elements = facts.columns.elements
    placed = np.flatnonzero(elements.kind == kinds.ASSIGN_AT)
    places = np.empty(placed.size, np.int64)
    for number, element in enumerate(placed.tolist()):
        key = int(elements.key[element])
        slot = facts.slot_from(element) if elements.offset[element] >= 0 else -1
        places[number] = slot if slot >= 0 else facts.slots.start[key + 1]
    return placed, places


def _worst(facts: LogFacts, worst: Ints64) -> dict[str, object] | None:
    lag, row, key, _ = map(int, worst)
    if row < 0:
        return None
    return {
        "lag-ms": lag / _NS_PER_MS,
        "key": facts.columns.key_of(key),
        "process": facts.columns.process_of(row),
        "op": facts.columns.index_of(row),
    }


def _told(facts: LogFacts, known: Ints32, bound: float, row: int, key: int, slot: int) -> Finding:
    columns = facts.columns
    since, call = int(known[slot]), int(columns.call[row])
    lag = int(columns.ops.time_ns[call] - columns.ops.time_ns[since]) / _NS_PER_MS
    offset = facts.offset_at(slot, key)
    return Finding(
        type="stale-read",
        ops=tuple(sorted({columns.index_of(since), columns.index_of(row)})),
        because=(
            f"{who(facts, since)} showed that offset {offset} of {key_text(facts, key)} or a "
            f"later one existed; a poll of {who(facts, row)} {lag:g} ms later did not return "
            f"it, and the bound is {bound:g} ms"
        ),
        witness={"key": columns.key_of(key), "offset": offset, "lag-ms": lag},
    )


CHECKERS = (
    Checker(
        name="stale-read",
        about="A poll misses a record that has existed for longer than the given bound.",
        look=lambda evidence, contract: stale_reads(
            evidence.facts, bound_ms=contract.stale_bound_ms
        ),
        rows=(never("A consumer is not further behind than the given bound."),),
        model="kafka",
    ),
)
