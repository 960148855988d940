"""Operations that begin in one part of a long history and end in another.

A process has one operation at a time, so the summary of a part is small: for each process whether
its first row ends an operation, and whether its last row begins one. From the summaries, in the
order of the parts, the remaining rows are paired, and no part is read twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from checkers.columns import ops_from
from harness.history.operations import NOTICES

_Ints = npt.NDArray[np.integer[Any]]
_NONE = -1


class Link(NamedTuple):
    """A row and its partner in another part; `began_ns` is set for the row of the completion."""

    row: int
    partner: int
    began_ns: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """Summary of one part for the others, with rows and times by process."""

    first_index: int
    last_index: int
    last_ns: int
    process: Sequence[int]
    ends_row: Sequence[int]
    """The first row of the process if it ends an operation, else -1."""
    begins_row: Sequence[int]
    """The last row of the process if it begins an operation, else -1."""
    begins_ns: Sequence[int]


def boundary(ops: pa.Table, first_row: int) -> Boundary:
    found = ops_from(ops)
    is_notice = np.array([*(name in NOTICES for name in found.names), False], np.bool_)
    rows = np.flatnonzero((found.process >= 0) & ~is_notice[found.f])
    own = found.process[rows]
    processes, first = np.unique(own, return_index=True)
    last = own.size - 1 - np.unique(own[::-1], return_index=True)[1]
    first, last = rows[first], rows[last]
    ends = np.where(found.type[first] != 0, first + first_row, _NONE)
    begins = np.where(found.type[last] == 0, last + first_row, _NONE)
    return Boundary(
        first_index=int(found.index[0]),
        last_index=int(found.index[-1]),
        last_ns=int(found.time_ns[-1]),
        process=found.numbers[processes].tolist(),
        ends_row=ends.tolist(),
        begins_row=begins.tolist(),
        begins_ns=found.time_ns[last].tolist(),
    )


def links(boundaries: Sequence[Boundary]) -> list[list[Link]]:
    """For each part, in their order, the rows whose partner is in another part."""
    found: list[list[Link]] = [[] for _ in boundaries]
    open_: dict[int, tuple[int, int, int]] = {}
    for number, each in enumerate(boundaries):
        columns = (each.process, each.ends_row, each.begins_row, each.begins_ns)
        for process, ends, begins, begins_ns in zip(*columns, strict=True):
            begun = open_.pop(process, None)
            if begun is not None and ends != _NONE:
                part, row, began_ns = begun
                found[part].append(Link(row, ends, None))
                found[number].append(Link(ends, row, began_ns))
            if begins != _NONE:
                open_[process] = (number, begins, begins_ns)
    return found
