"""Operations and values in the words of a sentence."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from checkers.log.facts import LogFacts


def value_text(value: Any) -> str:
    """`9:159` for number 159 of producer 9, as everywhere on a report; other values as JSON."""
    if isinstance(value, int) and value >= 1 << 32:
        return f"{value >> 32}:{value & 0xFFFFFFFF}"
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def element_of(facts: LogFacts, row: int, number: int, role: int) -> int:
    """Where an operation speaks of this value."""
    span = slice(int(facts.begin[row]), int(facts.end[row]))
    here = (facts.number[span] == number) & (facts.role_at(span) == role)
    return span.start + int(np.flatnonzero(here)[0])


def place_text(offset: int) -> str:
    return f"offset {offset}" if offset >= 0 else "an offset unknown"


def place_of(offset: int) -> int | None:
    """As a witness has it."""
    return offset if offset >= 0 else None


def who(facts: LogFacts, row: int) -> str:
    return f"process {facts.columns.process_of(row)} (op {facts.columns.index_of(row)})"


def key_text(facts: LogFacts, key: int) -> str:
    return str(facts.columns.key_of(key))


def of_number(facts: LogFacts, number: int) -> Any:
    """The value that has this number."""
    values = facts.values
    if values.reader[number] >= 0:
        return facts.columns.value_of(int(values.reader[number]))
    if values.other_reader[number] >= 0:
        return facts.columns.value_of(int(values.other_reader[number]))
    row = int(values.writer[number])
    return facts.columns.value_of(element_of(facts, row, number, 1))
