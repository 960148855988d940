"""A history as columns of numbers, the form in which checkers read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.kernels.rows import own_spans, pair
from checkers.parts import in_halves
from harness.history.op import TYPES, Op
from harness.history.operations import NOTICES

OK, INFO, FAIL = 1, 2, 3
_SPARE = 1 << 16
_TYPE_CODES = {"invoke": 0, "ok": OK, "info": INFO, "fail": FAIL}


@dataclass(frozen=True, slots=True)
class Ops:
    """One row per invocation or completion, in the order of the history."""

    index: Ints64
    time_ns: Ints64
    process: Ints32
    """Numbered from 0 without gaps; -1 is not a client's."""
    type: Ints8
    f: Ints32
    names: Sequence[str]
    """Of `f`, by code."""
    numbers: Ints64
    """The process numbers of the history, by ours."""


@dataclass(frozen=True, slots=True)
class Elements:
    """One row per element of a value, those of an operation together."""

    op: Ints32
    """The row of its operation."""
    position: Ints32
    kind: Ints8
    key: Ints32
    offset: Ints64
    value: Ints64
    boxed: Bools
    told: Bools
    """Whether there is a value at all."""


class Told(Protocol):
    """What is needed of a history besides its columns."""

    @property
    def keys(self) -> Sequence[str | int]: ...

    @property
    def values(self) -> Sequence[Any]: ...

    @property
    def timestamps(self) -> pa.ChunkedArray | None:
        """The timestamp of each element; None if the history has none."""
        ...

    def op(self, index: int) -> Op: ...


class Columns:
    """A history's columns, and which rows belong together."""

    def __init__(
        self, history: Told, *, ops: Ops | None = None, elements: Elements | None = None
    ) -> None:
        """Of a whole history, or of one whose columns were read already."""
        self.history = history
        tables: Any = history
        self.ops = ops_from(tables.ops) if ops is None else ops
        self.elements = elements_from(tables.elements) if elements is None else elements

    @cached_property
    def timestamps(self) -> Ints64 | None:
        """The timestamp of each element, -1 where none is known; None if the history has none. Only
        one checker asks for them, so nothing else pays for reading them."""
        column = self.history.timestamps
        return None if column is None else _plain(column, -1)

    @cached_property
    def partner(self) -> Ints32:
        alone = self.has_f(*NOTICES)
        partner = np.full(self.ops.process.size, -1, np.int32)
        nothing = np.full(max(1, self.ops.numbers.size), -1, np.int32)
        pair(self.ops.process, self.ops.type, alone, nothing, partner)
        return partner

    @cached_property
    def outcome(self) -> Ints8:
        """Of each operation, at the row that completes it: ok, info or fail; 0 elsewhere. An
        invocation that nothing answered is info; rows of no client count for nothing."""
        unanswered = (self.ops.type == 0) & (self.partner < 0)
        outcome: Ints8 = np.where(unanswered, np.int8(INFO), self.ops.type)
        outcome[self.ops.process < 0] = 0
        return outcome

    @cached_property
    def spans(self) -> tuple[Ints64, Ints64]:
        """First and last element of each row. Where a completion says nothing of what was done,
        as a client's that died, its invocation speaks for it."""
        begin, end = np.zeros((2, self.outcome.size), np.int64)
        op = self.elements.op

        def half(first: int, last: int) -> None:
            own_spans(first, last, op, begin, end)

        in_halves(op.size, half, size=op.size)
        self.let_invocations_speak(begin, end)
        return begin, end

    def let_invocations_speak(self, begin: Ints64, end: Ints64) -> None:
        """Where completions are silent."""
        rows = self.not_ok
        silent = rows[(begin[rows] == end[rows]) & (self.partner[rows] >= 0)]
        begin[silent] = begin[self.partner[silent]]
        end[silent] = end[self.partner[silent]]

    @cached_property
    def not_ok(self) -> Ints64:
        """The rows that complete operations which failed, or of which nobody knows."""
        return np.flatnonzero(self.outcome > OK)

    @cached_property
    def call(self) -> Ints64:
        """The row at which an operation was invoked; -1, before all others, if nobody knows."""
        rows = np.arange(self.partner.size)
        call: Ints64 = np.where(self.ops.type == 0, rows, self.partner)
        return call

    def has_f(self, *names: str) -> Bools:
        wanted = np.array([name in names for name in self.ops.names] + [False], np.bool_)
        return wanted[self.ops.f] if wanted.any() else np.zeros(self.ops.f.size, np.bool_)

    def row_of(self, element: int) -> int:
        """The row of the operation, completed, that an element belongs to."""
        row = int(self.elements.op[element])
        if self.outcome[row] == 0 and self.partner[row] >= 0:
            return int(self.partner[row])
        return row

    def index_of(self, row: int) -> int:
        return int(self.ops.index[row])

    def process_of(self, row: int) -> int:
        return int(self.ops.numbers[self.ops.process[row]])

    def key_of(self, key: int) -> str | int:
        return self.history.keys[key]

    def value_of(self, element: int) -> Any:
        value = int(self.elements.value[element])
        return self.history.values[value] if self.elements.boxed[element] else value


def has_kind(columns: Columns, kind: int) -> bool:
    """Whether any element of the history is of this kind."""
    return bool((columns.elements.kind == kind).any())


def _plain(column: pa.ChunkedArray, null: Any = None) -> Any:
    """As numpy, without a copy where there is one chunk and nothing is null."""
    if column.null_count:
        column = pc.fill_null(column, null)
    array = column.to_numpy()
    # Arrow's own memory cannot be written; kernels are compiled once if nothing can.
    array.flags.writeable = False
    return array


def _codes(column: pa.ChunkedArray) -> tuple[Ints32, list[str]]:
    """A column of texts as numbers and their names, in the order of first appearance."""
    encoded = column if pa.types.is_dictionary(column.type) else pc.dictionary_encode(column)
    encoded = encoded.unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        if encoded.num_chunks == 0:
            return np.empty(0, np.int32), []
        encoded = encoded.chunk(0)
    indices = encoded.indices
    if indices.null_count:
        indices = indices.fill_null(len(encoded.dictionary))
    return indices.to_numpy().astype(np.int32, copy=False), encoded.dictionary.to_pylist()


def ops_from(table: pa.Table) -> Ops:
    type_codes, type_names = _codes(table["type"])
    assert set(type_names) <= set(TYPES), "the history layer lets no other type in"
    renamed = np.array([_TYPE_CODES[name] for name in type_names], np.int8)
    f, names = _codes(table["f"])
    process, numbers = _processes(_plain(table["process"]))
    return Ops(
        index=_plain(table["index"]),
        time_ns=_plain(table["time"], 0),
        process=process,
        type=renamed[type_codes] if type_names else np.empty(0, np.int8),
        f=f,
        names=names,
        numbers=numbers,
    )


def _processes(told: Ints32) -> tuple[Ints32, Ints64]:
    """Processes numbered without gaps, in their order; and their own numbers."""
    most = int(told.max(initial=-1)) + 1
    if most <= _SPARE + 4 * told.size:
        is_there = np.zeros(most + 1, np.bool_)
        is_there[np.maximum(told, -1)] = True
        # What is no client's is at the end, and told apart below.
        is_there[-1] = False
        place = np.cumsum(is_there, dtype=np.int32) - np.int32(1)
        place[-1] = -1
        return place[np.maximum(told, -1)], np.flatnonzero(is_there)
    numbers, inverse = np.unique(told, return_inverse=True)
    strangers = int(np.searchsorted(numbers, 0))
    process = np.maximum(inverse - strangers, -1).astype(np.int32)
    return process, numbers[strangers:].astype(np.int64)


def elements_from(table: pa.Table) -> Elements:
    value = table["value"]
    told = np.ones(len(value), np.bool_) if not value.null_count else _plain(pc.is_valid(value))
    told.flags.writeable = False
    return Elements(
        op=_plain(table["op"]),
        position=_plain(table["position"], 0),
        kind=_plain(table["kind"]).astype(np.int8, copy=False),
        key=_plain(table["key"], -1),
        offset=_plain(table["offset"], -1),
        value=_plain(value, 0),
        boxed=_plain(table["boxed"], False).astype(np.bool_, copy=False),
        told=told,
    )
