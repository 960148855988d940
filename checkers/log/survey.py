"""What there is in a history of logs, seen in one look at its elements."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.columns import Columns
from checkers.kernels import survey as kernels
from checkers.kernels.tables import Cells, Seen
from checkers.parts import in_halves

_AT_ONCE = 4096
"""Elements that are looked at together: what is noted of them stays close at hand."""


@dataclass(frozen=True, slots=True)
class Survey:
    kinds: Ints64
    """How many elements there are of each kind."""
    roles: Ints8
    """What each operation does: 1 sends, 2 polls, 3 both."""
    spans: tuple[Ints64, Ints64]
    """Where its elements begin and end."""
    plain: Bools
    """Whether its elements are records of one key, side by side in its log."""
    lowest: Ints64
    highest: Ints64
    """Offsets of each key; -1 where none is known."""
    width: Ints64
    """How far the values of each producer go: the lower halves of values by the upper."""
    count: int
    """Of values; `least` and `greatest` are their upper halves."""
    least: int
    greatest: int
    boxed: int
    placed: int
    """How many elements have an offset."""

    @property
    def near(self) -> bool:
        """Whether `width` tells of all values."""
        return self.count > 0 and not self.boxed and 0 <= self.least <= self.greatest < kernels.NEAR


def survey(columns: Columns, keys: int, number: Ints32) -> Survey:
    """Numbers of values, given later, are none at first."""
    elements = columns.elements
    op = elements.op
    begin, end = np.zeros((2, columns.outcome.size), np.int64)
    roles = np.zeros(columns.outcome.size, np.int8)
    plain = np.zeros(columns.outcome.size, np.bool_)
    around = kernels.Around(op, elements.boxed, columns.outcome, begin, end, roles, plain)
    cells = Cells(
        elements.kind, elements.key, elements.offset, elements.value, elements.told, number
    )

    def half(first: int, last: int) -> Seen:
        seen = Seen(
            kinds=np.zeros(128, np.int64),
            lowest=np.full(keys, -1, np.int64),
            highest=np.full(keys, -1, np.int64),
            width=np.zeros(kernels.NEAR, np.int64),
            facts=np.array([0, 1 << 62, -(1 << 62), 0, 0], np.int64),
        )
        room = np.empty(_AT_ONCE, np.int8), np.empty(_AT_ONCE + 1, np.int32)
        kernels.look_over(first, last, around, cells, seen, *room)
        return seen

    halves = in_halves(op.size, half, size=op.size, middle=_next_op(op, op.size // 2))
    columns.let_invocations_speak(begin, end)
    rows = columns.not_ok
    # Themselves, or the invocations that speak for them.
    spoken_for = rows[begin[rows] < end[rows]]
    roles[spoken_for] = roles[elements.op[begin[spoken_for]]]
    kinds, lowest, highest, width, facts = (np.array(part) for part in zip(*halves, strict=True))
    low = np.where(lowest < 0, np.iinfo(np.int64).max, lowest).min(axis=0)
    highest = highest.max(axis=0)
    count, boxed, placed = facts[:, [kernels.COUNT, kernels.BOXED, kernels.PLACED]].sum(axis=0)
    return Survey(
        kinds=kinds.sum(axis=0),
        roles=roles,
        spans=(begin, end),
        plain=plain,
        lowest=np.where(highest < 0, -1, low),
        highest=highest,
        width=width.max(axis=0),
        count=int(count),
        least=int(facts[:, kernels.LEAST].min()),
        greatest=int(facts[:, kernels.GREATEST].max()),
        boxed=int(boxed),
        placed=int(placed),
    )


def _next_op(op: Ints32, element: int) -> int:
    """The first element from there on with which an operation begins."""
    while 0 < element < op.size and op[element] == op[element - 1]:
        few = op[element : element + _AT_ONCE]
        others = np.flatnonzero(few != few[0])
        element += int(others[0]) if others.size else few.size
    return element
