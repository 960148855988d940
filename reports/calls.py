"""A history as calls: invocation and completion together, as columns of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from harness.history.history import History
from harness.history.op import NEMESIS, TYPES, Op
from harness.history.operations import NOTICES
from harness.history.schema import INFO, INVOKE
from reports.lean_history import scan

Ints = npt.NDArray[np.int64]
Keys = npt.NDArray[np.int16] | npt.NDArray[np.int32]
Offsets = npt.NDArray[np.int32] | npt.NDArray[np.int64]

SENT: Final = (2, 13)
"""Kinds of elements that say where a value was put: sent, put-at."""
RECORD: Final = 6
_OF_NOTHING: Final = NOTICES
"""Completions that belong to no invocation."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a history, by number."""

    index: Ints
    time_ns: Ints
    process: npt.NDArray[np.int32]
    type: npt.NDArray[np.int8]
    """By code: invoke, ok, fail, info."""
    f: npt.NDArray[np.int32]
    names: list[str]
    """Of `f`, by code."""


@dataclass(frozen=True, slots=True)
class Elements:
    """What was sent or read, and where; other elements are left out."""

    row: npt.NDArray[np.int32]
    kind: npt.NDArray[np.int8]
    key: Keys
    offset: Offsets
    """Nothing is -1."""


class Calls:
    """Each call has a number, in the order of the invocations."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.rows = _rows(history)
        rows = self.rows
        self.end_of_all_ns = int(rows.time_ns[-1]) if len(rows.time_ns) else 0
        begun, ended = _pairs(rows)
        self.begun = begun
        """The row of each call's invocation."""
        self.ended = ended
        """The row of its completion; -1 if there is none."""
        has_end = ended >= 0
        self.begin_ns = rows.time_ns[begun]
        self.end_ns = np.where(has_end, rows.time_ns[ended], self.end_of_all_ns)
        self.type = np.where(has_end, rows.type[ended], INFO).astype(np.int8)
        self.process = rows.process[begun]
        self.f = rows.f[begun]
        self._told: dict[int, Op] = {}

    def __len__(self) -> int:
        return len(self.begun)

    @cached_property
    def of_row(self) -> Ints:
        """The call that a row belongs to; -1 for rows of the nemesis."""
        found = np.full(len(self.rows.index), -1, np.int64)
        found[self.begun] = np.arange(len(self))
        has_end = self.ended >= 0
        found[self.ended[has_end]] = np.flatnonzero(has_end)
        return found

    def row_of(self, index: int) -> int | None:
        row = int(np.searchsorted(self.rows.index, index))
        is_there = row < len(self.rows.index) and int(self.rows.index[row]) == index
        return row if is_there else None

    def call_of(self, index: int) -> int | None:
        """The call whose invocation or completion has this index."""
        row = self.row_of(index)
        if row is None or self.of_row[row] < 0:
            return None
        return int(self.of_row[row])

    def told(self, call: int) -> Op:
        """The operation that says the most: its completion, or what was asked for."""
        if call not in self._told:
            row = int(self.ended[call]) if self.ended[call] >= 0 else int(self.begun[call])
            self._told[call] = self.history.op(int(self.rows.index[row]))
        return self._told[call]

    @cached_property
    def elements(self) -> Elements:
        """Of completions only."""
        most, batches = scan(self.history)
        is_kind = np.isin(np.arange(128), (*SENT, RECORD))
        is_completion = self.rows.type != INVOKE
        # As small as will do, since there are many millions; what is not written costs nothing.
        row, kind = np.empty(most, np.int32), np.empty(most, np.int8)
        key: Keys = np.empty(most, np.int32)
        if len(self.history.keys) < 1 << 15:
            key = np.empty(most, np.int16)
        offset: Offsets = np.empty(most, np.int32)
        at = 0
        for batch in batches:
            ops, kinds = batch["op"].to_numpy(), batch["kind"].to_numpy()
            keep = is_kind[kinds] & is_completion[ops]
            offsets = batch["offset"].fill_null(-1).to_numpy()[keep]
            if len(offsets) and int(offsets.max()) >= 1 << 31 and offset.dtype == np.int32:
                offset = offset.astype(np.int64)
            end = at + len(offsets)
            row[at:end], kind[at:end] = ops[keep], kinds[keep]
            key[at:end] = batch["key"].fill_null(-1).to_numpy()[keep]
            offset[at:end] = offsets
            at = end
        return Elements(row[:at], kind[:at], key[:at], offset[:at])


def _rows(history: History) -> Rows:
    ops = history.ops
    type_, f = (ops[name].unify_dictionaries().combine_chunks() for name in ("type", "f"))
    # Of no rows at all there are no chunks, and nothing was ever named.
    codes = [TYPES.index(name) for name in type_.dictionary.to_pylist()]
    return Rows(
        index=np.asarray(ops["index"]),
        time_ns=np.asarray(ops["time"]),
        process=np.asarray(ops["process"]),
        type=np.array(codes, np.int8)[np.asarray(type_.indices)],
        f=np.asarray(f.indices),
        names=f.dictionary.to_pylist(),
    )


def _pairs(rows: Rows) -> tuple[Ints, Ints]:
    strange = [code for code, name in enumerate(rows.names) if name in _OF_NOTHING]
    of_clients = np.flatnonzero((rows.process != NEMESIS) & ~np.isin(rows.f, strange))
    order = of_clients[np.argsort(rows.process[of_clients], kind="stable")]
    is_call = rows.type[order] == INVOKE
    begun = order[is_call]
    after = np.full(len(order), -1, np.int64)
    goes_on = (rows.process[order[1:]] == rows.process[order[:-1]]) & ~is_call[1:]
    after[:-1][goes_on] = order[1:][goes_on]
    ended = after[is_call]
    by_time = np.argsort(begun, kind="stable")
    return begun[by_time], ended[by_time]
