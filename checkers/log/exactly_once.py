"""exactly-once: each input of a consume-transform-produce loop has one output that is shown.

A transform took effect if it is ok, or info and one of its outputs was polled. An input that two of
those consumed was processed twice; one that lies between others and that none consumed was skipped.
"""

from __future__ import annotations

import numpy as np

from checkers.checker import Checker, of_facts
from checkers.clauses import LOSS, UNCOMMITTED, never
from checkers.columns import OK
from checkers.findings import SHOWN, Finding, Findings
from checkers.log.facts import LogFacts
from checkers.log.words import key_text, of_number, value_text, who
from harness.history import kinds


def exactly_once(facts: LogFacts) -> Findings:
    columns, elements = facts.columns, facts.columns.elements
    taken = facts.of_kind(kinds.IN)
    taken = taken[elements.offset[taken] >= 0]
    rows = elements.op[taken]
    took_effect = (columns.outcome[rows] == OK) | (facts.committed[rows] > 0)
    taken, rows = taken[took_effect], rows[took_effect]
    order = np.lexsort((rows, elements.offset[taken], elements.key[taken]))
    taken = taken[order]
    key, offset = elements.key[taken], elements.offset[taken]
    same_key = key[1:] == key[:-1]
    twice = np.flatnonzero(same_key & (offset[1:] == offset[:-1]))
    found = [_twice(facts, int(taken[one]), int(taken[one + 1])) for one in twice[:SHOWN]]
    skipped = []
    for one in np.flatnonzero(same_key & (offset[1:] > offset[:-1] + 1)).tolist():
        skipped += _between(facts, int(taken[one]), int(taken[one + 1]))
    found += [_skipped(facts, *item) for item in skipped[:SHOWN]]
    return Findings(
        found=tuple(sorted(found, key=lambda finding: finding.ops)[:SHOWN]),
        count=int(twice.size) + len(skipped),
        looked_at=int(taken.size),
        nothing="nothing was transformed",
    )


def _twice(facts: LogFacts, one: int, other: int) -> Finding:
    columns, elements = facts.columns, facts.columns.elements
    rows = [columns.row_of(element) for element in (one, other)]
    key, offset = int(elements.key[one]), int(elements.offset[one])
    return Finding(
        type="exactly-once",
        ops=tuple(sorted({columns.index_of(row) for row in rows})),
        because=f"offset {offset} of {key_text(facts, key)} was processed by {who(facts, rows[0])} "
        f"and again by {who(facts, rows[1])}",
        witness={"key": columns.key_of(key), "offset": offset, "times": 2},
    )


def _between(facts: LogFacts, one: int, other: int) -> list[tuple[int, int, int]]:
    """Records that are known between two inputs: the two, and the slot."""
    elements = facts.columns.elements
    key = int(elements.key[one])
    begin, end = facts.slot_from(one), facts.slot_from(other)
    if begin < 0:
        return []
    end = end if end >= 0 else int(facts.slots.start[key + 1])
    first = int(elements.offset[one])
    return [
        (one, other, slot)
        for slot in range(begin, end)
        if facts.slots.held[slot] >= 0 and first < facts.offset_at(slot, key)
    ]


def _skipped(facts: LogFacts, one: int, other: int, slot: int) -> Finding:
    columns, elements = facts.columns, facts.columns.elements
    key = int(elements.key[one])
    rows = [columns.row_of(element) for element in (one, other)]
    value = of_number(facts, int(facts.slots.held[slot]))
    offset = facts.offset_at(slot, key)
    return Finding(
        type="exactly-once",
        ops=tuple(sorted({columns.index_of(row) for row in rows})),
        because=f"{value_text(value)} at offset {offset} of {key_text(facts, key)} was never "
        f"processed, though {who(facts, rows[0])} processed offset {elements.offset[one]} and "
        f"{who(facts, rows[1])} offset {elements.offset[other]}",
        witness={"key": columns.key_of(key), "offset": offset, "value": value, "times": 0},
    )


CHECKERS = (
    Checker(
        name="exactly-once",
        about="An input was processed twice, or skipped.",
        look=of_facts(exactly_once),
        rows=(
            UNCOMMITTED,
            *LOSS,
            never("Each input has exactly one visible output."),
        ),
        model="kafka",
    ),
)
