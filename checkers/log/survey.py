"""What there is in a history of logs, seen in one look at its elements."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.columns import OK, Columns
from checkers.kernels import survey as kernels
from checkers.kernels.tables import Seen
from checkers.parts import in_halves


@dataclass(frozen=True, slots=True)
class Survey:
    kinds: Ints64
    """How many elements there are of each kind."""
    roles: Ints8
    """What each operation does: 1 sends, 2 polls, 3 both."""
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
    begin, end = columns.spans
    roles = np.zeros(columns.outcome.size, np.int8)
    plain = np.zeros(columns.outcome.size, np.bool_)

    def half(first: int, last: int) -> Seen:
        seen = Seen(
            kinds=np.zeros(128, np.int64),
            lowest=np.full(keys, -1, np.int64),
            highest=np.full(keys, -1, np.int64),
            width=np.zeros(kernels.NEAR, np.int64),
            facts=np.array([0, 1 << 62, -(1 << 62), 0, 0], np.int64),
        )
        kernels.look_over(
            first,
            last,
            columns.outcome,
            begin,
            end,
            elements.op,
            elements.kind,
            elements.key,
            elements.offset,
            elements.value,
            elements.boxed,
            elements.told,
            number,
            roles,
            plain,
            seen,
        )
        return seen

    halves = in_halves(roles.size, half, size=elements.op.size)
    spoken_for = np.flatnonzero((columns.outcome > OK) & (begin < end))
    # Themselves, or the invocations that speak for them.
    roles[spoken_for] = roles[elements.op[begin[spoken_for]]]
    kinds, lowest, highest, width, facts = (np.array(part) for part in zip(*halves, strict=True))
    low = np.where(lowest < 0, np.iinfo(np.int64).max, lowest).min(axis=0)
    highest = highest.max(axis=0)
    count, boxed, placed = facts[:, [kernels.COUNT, kernels.BOXED, kernels.PLACED]].sum(axis=0)
    return Survey(
        kinds=kinds.sum(axis=0),
        roles=roles,
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
