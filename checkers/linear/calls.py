"""Operations on an object as the search wants them: when, and what each needs and makes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from checkers.columns import INFO, OK, Columns
from harness.history import kinds
from harness.history.json_text import encode


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
    elements, (begin, end) = columns.elements, columns.spans
    f_names, keyed = columns.ops.names, _keys(columns)
    partner = columns.partner
    for row in np.flatnonzero(columns.has_f(*names) & (columns.outcome > 0)).tolist():
        outcome = int(columns.outcome[row])
        value = None
        if begin[row] < end[row] and elements.kind[begin[row]] == kinds.VALUE:
            value = columns.value_of(int(begin[row]))
        elif begin[row] < end[row] and elements.kind[begin[row]] != kinds.EXTRA:
            value = columns.history.op(columns.index_of(row)).value
        key = keyed.get(row)
        if key is None and partner[row] >= 0:
            key = keyed.get(int(partner[row]))
        yield Call(
            row,
            int(columns.call[row]),
            row if outcome != INFO else None,
            f_names[int(columns.ops.f[row])],
            value,
            outcome,
            key,
        )


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
    """The same for equal values, and never for others: 1 is not true, nor "1"."""
    return value if type(value) is int or type(value) is str else encode(value)


def happened(call: Call) -> bool:
    return call.outcome in (OK, INFO)
