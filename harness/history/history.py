"""A whole history: columns for checkers, operations for everybody else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from harness.history import schema
from harness.history.chunks import has_chunks, read_chunks
from harness.history.collected import Collected
from harness.history.edn_reader import read_edn
from harness.history.element import Element
from harness.history.errors import HistoryError
from harness.history.json_text import decode
from harness.history.jsonl import read_jsonl
from harness.history.lists import listed
from harness.history.nest import nest
from harness.history.op import Key, Op
from harness.history.parquet import has_parquet, is_marked_torn, read_parquet, write_parquet
from harness.history.tables import Tables
from harness.history.timestamps import by_micro_op

CHUNKS: Final = "history"
PARQUET: Final = "history.parquet"

_ROWS_AT_ONCE = 16_384


class History:
    """Rows in their order. The columns are those of docs/reference/history.md."""

    def __init__(self, tables: Tables, *, is_torn: bool = False) -> None:
        self.tables = tables
        self.is_torn = is_torn
        """Whether the recording has no end, so that rows may be missing behind the last one."""
        self.ops: pa.Table = tables.ops
        self.elements: pa.Table = tables.elements

    @classmethod
    def load(cls, path: Path) -> History:
        """From a run's directory, its `history` or `history.parquet`, or a file of JSON Lines."""
        tables, is_torn = _read(path)
        return cls(tables, is_torn=is_torn)

    @classmethod
    def of(cls, ops: Iterable[Op]) -> History:
        """These rows in this order, whatever their times say."""
        collected = Collected()
        for op in ops:
            collected.add(op)
        return cls(collected.tables())

    @cached_property
    def keys(self) -> Sequence[Key]:
        """By id."""
        return [decode(text) for text in listed(self.tables.keys["json"])]

    @cached_property
    def values(self) -> Sequence[Any]:
        """By id; read when asked for, each time anew."""
        return _Decoded(self.tables.values["json"].combine_chunks())

    @property
    def timestamps(self) -> pa.ChunkedArray | None:
        """The timestamp of each element, null where none is known; None if the history has none."""
        has_any = schema.TIMESTAMP.name in self.elements.column_names
        return self.elements[schema.TIMESTAMP.name] if has_any else None

    def __len__(self) -> int:
        return len(self.ops)

    def __iter__(self) -> Iterator[Op]:
        for start in range(0, len(self), _ROWS_AT_ONCE):
            yield from self._rows(start, min(start + _ROWS_AT_ONCE, len(self)))

    def op(self, index: int) -> Op:
        """The row that has this index; in histories of ours, the row of that number."""
        row = int(np.searchsorted(self._indices, index))
        if row == len(self) or self._indices[row] != index:
            raise IndexError(f"no operation has the index {index}")
        return next(self._rows(row, row + 1))

    def write_parquet(self, directory: Path) -> None:
        write_parquet(self.tables, directory, is_torn=self.is_torn)

    @cached_property
    def _indices(self) -> npt.NDArray[np.int64]:
        return np.asarray(self.ops["index"])

    @cached_property
    def _element_ops(self) -> npt.NDArray[np.int32]:
        return np.asarray(self.elements["op"])

    def _rows(self, start: int, stop: int) -> Iterator[Op]:
        bounds = np.searchsorted(self._element_ops, np.arange(start, stop + 1, dtype=np.int32))
        first = int(bounds[0])
        elements = self._elements(first, int(bounds[-1]))
        stamps = self._timestamps(first, int(bounds[-1]))
        ends = (bounds - first).tolist()
        columns = map(listed, self.ops.slice(start, stop - start).columns)
        for number, row in enumerate(zip(*columns, strict=True)):
            index, time_ns, process, type_, f, error, node = row
            own = slice(ends[number], ends[number + 1])
            value, extra = nest(elements[own])
            timestamps = None if stamps is None else by_micro_op(elements[own], stamps[own])
            yield Op(index, time_ns, process, type_, f, value, error, node, extra, timestamps)

    def _timestamps(self, start: int, stop: int) -> list[int | None] | None:
        column = self.timestamps
        return None if column is None else listed(column.slice(start, stop - start))

    def _elements(self, start: int, stop: int) -> list[Element]:
        table = self.elements.slice(start, stop - start).select(schema.ELEMENTS.names)
        columns = map(listed, table.columns)
        keys, boxes = self.keys, self.values
        return [
            Element(
                kind,
                position,
                None if key is None else keys[key],
                offset,
                boxes[value] if boxed else value,
            )
            for _, position, kind, key, offset, value, boxed in zip(*columns, strict=True)
        ]


def finish(directory: Path) -> History:
    """Loads the chunks in a recorder's directory and writes `history.parquet` beside them."""
    tables, is_torn = read_chunks(directory)
    history = History(tables, is_torn=is_torn)
    history.write_parquet(directory.with_name(PARQUET))
    return history


def _read(path: Path) -> tuple[Tables, bool]:
    """The tables, and whether they are torn."""
    if path.suffix == ".jsonl" and path.is_file():
        return read_jsonl(path), False
    if path.suffix == ".edn" and path.is_file():
        return read_edn(path), False
    if not path.is_dir():
        raise HistoryError(
            "no history is here" if not path.exists() else "this is no history",
            str(path),
            "name the directory of a run, its history or history.parquet, or a .jsonl or .edn file",
        )
    for directory in (path / PARQUET, path):
        if has_parquet(directory):
            return read_parquet(directory), is_marked_torn(directory)
    for directory in (path / CHUNKS, path):
        if has_chunks(directory):
            return read_chunks(directory)
    raise HistoryError(
        "neither history.parquet nor history/ops.arrow is in this directory",
        str(path),
        "name the directory of a run",
    )


class _Decoded(Sequence[Any]):
    """JSON texts as the values they tell."""

    def __init__(self, texts: pa.Array) -> None:
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    @overload
    def __getitem__(self, number: int) -> Any: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Any]: ...
    def __getitem__(self, number: int | slice) -> Any:
        if isinstance(number, slice):
            return _Decoded(self._texts[number])
        return decode(self._texts[number].as_py())
