"""inconsistent-offsets and duplicate: an offset with several values, a value at several offsets."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from checkers.arrays import Ints64
from checkers.checker import Checker, of_facts
from checkers.clauses import ALONE, BLIND_RETRIES, LEADER_ONLY, NOBODY, UNCLEAN, UNSAFE, never
from checkers.findings import SHOWN, Finding, Findings, limited
from checkers.kernels import fitting
from checkers.kernels.log import elements_at
from checkers.kernels.values import DOUBLE
from checkers.log.facts import SEND, LogFacts
from checkers.log.words import key_text, of_number, value_text, who

_PLACES = 64
"""So many values of an offset, or offsets of a value, are told of."""

NOTHING = "no operation recorded an offset"


def inconsistent_offsets(facts: LogFacts) -> Findings:
    clashing = np.flatnonzero(facts.slots.clash)
    spoken = _spoken_of(facts, clashing[:SHOWN], by_value=False)

    def told(slot: int) -> Finding:
        return _two_values(facts, slot, spoken[slot])

    return limited(
        "inconsistent-offsets",
        [int(slot) for slot in clashing[:SHOWN]],
        clashing.size,
        looked_at=facts.known,
        nothing=NOTHING,
        told=told,
    )


def duplicates(facts: LogFacts) -> Findings:
    double = facts.marks.having(DOUBLE)
    spoken = _spoken_of(facts, double[:SHOWN], by_value=True)

    def told(number: int) -> Finding:
        return _two_offsets(facts, number, spoken[number])

    return limited(
        "duplicate",
        [int(number) for number in double[:SHOWN]],
        double.size,
        looked_at=facts.known,
        nothing=NOTHING,
        told=told,
    )


Spoken = dict[int, list[tuple[int, int]]]


def _spoken_of(facts: LogFacts, wanted: Ints64, *, by_value: bool) -> Spoken:
    """For each slot, or number of a value, the rows and elements that say something new of it."""
    if not wanted.size:
        return {}
    size = facts.values.key.size if by_value else facts.slots.held.size
    chosen = np.zeros(size, np.int8)
    chosen[wanted] = np.arange(1, wanted.size + 1)
    key = facts.values.key[wanted] if by_value else facts.key_at(wanted)
    rows = np.empty((wanted.size, _PLACES), np.int32)
    elements, count = np.empty(rows.shape, np.int64), np.zeros(wanted.size, np.int32)
    given = (facts.begin, facts.end, facts.cells, facts.committed, facts.shift, chosen, by_value)
    about = facts.rows_about(key)
    fitting(elements_at, facts.work_in(about))(about, *given, rows, elements, count)
    return {
        int(one): [(int(rows[thing, at]), int(elements[thing, at])) for at in range(count[thing])]
        for thing, one in enumerate(wanted)
    }


def _firsts(things: Iterable[tuple[int, tuple[int, int]]]) -> dict[int, tuple[int, int]]:
    """The first row and element for each thing, in the order of the history."""
    first: dict[int, tuple[int, int]] = {}
    for thing, where in things:
        first.setdefault(thing, where)
    return first


def _claim(facts: LogFacts, row: int, element: int, what: str, where: str) -> str:
    if facts.role_at(element) == SEND:
        return f"{who(facts, row)} sent {what}, acknowledged {where}"
    return f"{who(facts, row)} polled {what} {where}"


def _two_values(facts: LogFacts, slot: int, spoken: list[tuple[int, int]]) -> Finding:
    columns = facts.columns
    firsts = _firsts((int(facts.number[element]), (row, element)) for row, element in spoken)
    one, other = list(firsts)[:2]
    key = int(columns.elements.key[spoken[0][1]])
    offset = facts.offset_at(slot, key)
    claims = [
        _claim(facts, *firsts[number], value_text(of_number(facts, number)), "there")
        for number in (one, other)
    ]
    return Finding(
        type="inconsistent-offsets",
        ops=tuple(sorted({columns.index_of(firsts[number][0]) for number in (one, other)})),
        because=f"offset {offset} of {key_text(facts, key)} has two values: "
        f"{claims[0]}; {claims[1]}",
        witness={
            "key": columns.key_of(key),
            "offset": offset,
            "index": facts.rank_at(slot, key),
            "values": [of_number(facts, number) for number in sorted(firsts)],
        },
    )


def _two_offsets(facts: LogFacts, number: int, spoken: list[tuple[int, int]]) -> Finding:
    columns = facts.columns
    key = int(columns.elements.key[spoken[0][1]])
    real = columns.elements.offset
    firsts = _firsts((int(real[element]), (row, element)) for row, element in spoken)
    one, other = list(firsts)[:2]
    claims = [_claim(facts, *firsts[at], "it", f"at offset {at}") for at in (one, other)]
    value = of_number(facts, number)
    return Finding(
        type="duplicate",
        ops=tuple(sorted({columns.index_of(firsts[at][0]) for at in (one, other)})),
        because=f"{value_text(value)} is in {key_text(facts, key)} more than once: "
        f"{claims[0]}; {claims[1]}",
        witness={
            "key": columns.key_of(key),
            "value": value,
            "count": len(firsts),
            "offsets": sorted(firsts),
        },
    )


CHECKERS = (
    Checker(
        name="duplicate",
        about="One value is at several offsets.",
        look=of_facts(duplicates),
        rows=(
            BLIND_RETRIES,
            never("An idempotent producer's record is appended once."),
        ),
        stands=True,
        model="kafka",
    ),
    Checker(
        name="inconsistent-offsets",
        about="One offset has several values.",
        look=of_facts(inconsistent_offsets),
        rows=(
            UNSAFE,
            NOBODY,
            LEADER_ONLY,
            UNCLEAN,
            ALONE,
            never(
                "An offset that was acknowledged with acks=all, or read, holds the same "
                "record for ever."
            ),
        ),
        stands=True,
        model="kafka",
    ),
)
