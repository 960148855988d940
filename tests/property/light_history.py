"""A small history in memory: a checker's columns without Arrow's tables in between.

Tables cost more than judging a dozen operations does, and they are tested elsewhere; with a million
histories to judge, that is most of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from checkers.columns import Columns, Elements, Ops, _processes
from checkers.stored import StoredHistory
from harness.history.element import INT64_MAX, INT64_MIN
from harness.history.flatten import flatten
from harness.history.json_text import encode
from harness.history.op import Op

_TYPES = {"invoke": 0, "ok": 1, "info": 2, "fail": 3}


class LightHistory(StoredHistory):
    """Of rows whose indices are their places."""

    def __init__(self, rows: Sequence[Op]) -> None:
        self.rows = rows
        self._keys: dict[Any, int] = {}
        self._values: dict[str, int] = {}
        self._boxes: list[Any] = []
        self._built = Columns(self, ops=self._rows(), elements=self._flat())

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def keys(self) -> list[Any]:
        return list(self._keys)

    @cached_property
    def values(self) -> list[Any]:
        return self._boxes

    @property
    def timestamps(self) -> None:
        """Not kept: the checker of timestamps is not asked for here."""
        return None

    def op(self, index: int) -> Op:
        return self.rows[index]

    @cached_property
    def columns(self) -> Columns:
        return self._built

    def _rows(self) -> Ops:
        rows = self.rows
        names: dict[str, int] = {}
        process, numbers = _processes(np.array([row.process for row in rows], np.int32))
        return Ops(
            index=_fixed(np.arange(len(rows), dtype=np.int64)),
            time_ns=_fixed(np.array([row.time_ns for row in rows], np.int64)),
            process=process,
            type=np.array([_TYPES[row.type] for row in rows], np.int8),
            f=_fixed(np.array([names.setdefault(row.f, len(names)) for row in rows], np.int32)),
            names=list(names),
            numbers=numbers,
        )

    def _flat(self) -> Elements:
        flat: list[tuple[int, int, int, int, int, int, bool, bool]] = []
        for at, row in enumerate(self.rows):
            if row.value is None and row.extra is None:
                continue
            for kind, position, key, offset, value in flatten(row.f, row.value, row.extra):
                number, boxed = self._number(value)
                name = -1 if key is None else self._keys.setdefault(key, len(self._keys))
                offset = -1 if offset is None else offset
                told = value is not None
                flat.append((at, position, kind, name, offset, number, boxed, told))
        columns: Any = zip(*flat, strict=True) if flat else [()] * 8
        types: Any = (np.int32, np.int32, np.int8, np.int32, np.int64, np.int64, np.bool_, np.bool_)
        pairs = zip(columns, types, strict=True)
        return Elements(*(_fixed(np.array(column, type_)) for column, type_ in pairs))

    def _number(self, value: Any) -> tuple[int, bool]:
        if value is None:
            return 0, False
        if type(value) is int and INT64_MIN <= value <= INT64_MAX:
            return value, False
        text = encode(value)
        if text not in self._values:
            self._values[text] = len(self._boxes)
            self._boxes.append(value)
        return self._values[text], True


def _fixed(array: Any) -> Any:
    # As Arrow's memory is, so that no kernel is compiled a second time.
    array.flags.writeable = False
    return array
