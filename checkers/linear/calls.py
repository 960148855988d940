"""Operations on an object as the search wants them: when, and what each needs and makes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from checkers.columns import INFO, OK, Columns
from harness.history import kinds
from harness.history.json_text import canonical_text


@dataclass(frozen=True, slots=True)
class Call:
    """One operation. `ret` is None if it may never have happened."""

    row: int
    call: int
    ret: int | None
    f: str
    value: Any
    outcome: int
    key: Hashable = None


def calls(columns: Columns, *names: str) -> Iterator[Call]:
    """Operations with one of these names, in the order in which they ended."""
    rows = np.flatnonzero(columns.has_f(*names) & (columns.outcome > 0))
    begin, end = (column[rows].tolist() for column in columns.spans)
    outcomes, begun = columns.outcome[rows].tolist(), columns.call[rows].tolist()
    f, partners = columns.ops.f[rows].tolist(), columns.partner[rows].tolist()
    keyed = _keys(columns)
    value_of = _values(columns)
    for at, row in enumerate(rows.tolist()):
        outcome = outcomes[at]
        yield Call(
            row,
            begun[at],
            row if outcome != INFO else None,
            columns.ops.names[f[at]],
            value_of(row, begin[at]) if begin[at] < end[at] else None,
            outcome,
            keyed.get(row, keyed.get(partners[at])) if keyed else None,
        )


def _values(columns: Columns) -> Callable[[int, int], Any]:
    """The value of a row that has elements. What was boxed is unpacked once for all that share it,
    so nobody may change it."""
    elements = columns.elements
    kind, value, boxed = elements.kind, elements.value, elements.boxed
    unpacked: dict[int, Any] = {}

    def value_of(row: int, first: int) -> Any:
        if kind[first] == kinds.EXTRA:
            return None
        if kind[first] != kinds.VALUE:
            return columns.history.op(columns.index_of(row)).value
        number = int(value[first])
        if not boxed[first]:
            return number
        if number not in unpacked:
            unpacked[number] = columns.history.values[number]
        return unpacked[number]

    return value_of


def _keys(columns: Columns) -> dict[int, Hashable]:
    """Rows that name their object in a field of its own, `key`."""
    elements = columns.elements
    found: dict[int, Hashable] = {}
    for element in np.flatnonzero(elements.kind == kinds.EXTRA).tolist():
        extra = columns.value_of(element)
        if "key" in extra:
            found[int(elements.op[element])] = canonical(extra["key"])
    return found


def canonical(value: Any) -> Hashable:
    """The same for equal values, and never for others: 1 is not true, nor "1"; null not "null"."""
    return value if type(value) is int else canonical_text(value)


def happened(call: Call) -> bool:
    return call.outcome in (OK, INFO)
