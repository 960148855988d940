"""A history whose elements stay on disk: what was sent and read, many millions in a long run.

A page needs four numbers of each element and the whole of a few hundred operations. To load all of
it would take as much memory as the run had records, so elements are read a row group at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped, unused-ignore]

from harness.history import schema
from harness.history.element import Element
from harness.history.errors import HistoryError
from harness.history.history import PARQUET, History
from harness.history.lists import listed
from harness.history.nest import nest
from harness.history.op import Op
from harness.history.parquet import has_parquet
from harness.history.tables import Tables, with_words

_BATCH_ROWS = 1 << 17
_GROUPS_KEPT = 2
SCANNED = ("op", "kind", "key", "offset")


def load_history(directory: Path) -> History:
    """Lean where there is Parquet; the chunks of a run that came to no end are loaded whole."""
    parquet = directory / PARQUET
    return LeanHistory(parquet) if has_parquet(parquet) else History.load(directory)


class LeanHistory(History):
    """As any other, but `elements` is empty: they are read by `scan`, and with their operations,
    which have no timestamps here."""

    def __init__(self, directory: Path) -> None:
        try:
            ops = with_words(_table(directory / "ops.parquet"))
            keys = _table(directory / "keys.parquet").cast(schema.KEYS)
            self._file = pq.ParquetFile(
                directory / "elements.parquet", page_checksum_verification=True
            )
            names = self._file.schema_arrow.names
            if names[: len(schema.ELEMENTS)] != schema.ELEMENTS.names:
                raise ValueError(f"elements have the columns {names}")
        except (pa.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
            raise HistoryError(f"it cannot be read as Parquet ({error})", str(directory)) from error
        super().__init__(
            Tables(ops, schema.ELEMENTS.empty_table(), keys, schema.VALUES.empty_table())
        )
        self._directory = directory
        self._group = lru_cache(maxsize=_GROUPS_KEPT)(self._read_group)

    def scan(self) -> tuple[int, Iterator[Any]]:
        """How many elements there are, and batches of them with op, kind, key and offset."""
        batches = self._file.iter_batches(_BATCH_ROWS, columns=list(SCANNED), use_threads=False)
        return int(self._file.metadata.num_rows), batches

    def many(self, rows: Sequence[int]) -> Iterator[Op]:
        """The operations in these rows, in ascending order. Each row group is searched once for all
        of them, not once for each."""
        wanted = np.asarray(rows, np.int64)
        found: dict[int, list[Element]] = {}
        for number, (first, last) in enumerate(self._bounds):
            if not np.any((wanted >= first) & (wanted <= last)):
                continue
            ops, table = self._group(number)
            keep = np.flatnonzero(np.isin(ops, wanted))
            elements = self._told(table.take(keep))
            for row, element in zip(ops[keep].tolist(), elements, strict=True):
                found.setdefault(row, []).append(element)
        columns = map(listed, self.ops.take(wanted).columns)
        for row, told in zip(wanted.tolist(), zip(*columns, strict=True), strict=True):
            index, time_ns, process, type_, f, error, node = told
            value, extra = nest(found.get(row, []))
            yield Op(index, time_ns, process, type_, f, value, error, node, extra)

    def _rows(self, start: int, stop: int) -> Iterator[Op]:
        columns = map(listed, self.ops.slice(start, stop - start).columns)
        for row, told in enumerate(zip(*columns, strict=True), start):
            index, time_ns, process, type_, f, error, node = told
            value, extra = nest(self._elements_of(row))
            yield Op(index, time_ns, process, type_, f, value, error, node, extra)

    @cached_property
    def values(self) -> Sequence[Any]:
        return History(self.tables._replace(values=_table(self._directory / "values.parquet"))
                       ).values  # fmt: skip

    @cached_property
    def _bounds(self) -> list[tuple[int, int]]:
        """The first and the last row of operations that each row group has elements of."""
        found = []
        for number in range(self._file.metadata.num_row_groups):
            told = self._file.metadata.row_group(number).column(0).statistics
            if told is None or not told.has_min_max:
                ops = np.asarray(self._file.read_row_group(number, columns=["op"])["op"])
                found.append((int(ops[0]), int(ops[-1])))
            else:
                found.append((int(told.min), int(told.max)))
        return found

    def _elements_of(self, row: int) -> list[Element]:
        found: list[Element] = []
        for number, (first, last) in enumerate(self._bounds):
            if first <= row <= last:
                ops, table = self._group(number)
                # Of the same type, or all of them would be converted first.
                start, stop = np.searchsorted(ops, np.array((row, row + 1), ops.dtype)).tolist()
                found += self._told(table.slice(start, stop - start))
        return found

    def _read_group(self, number: int) -> tuple[Any, Any]:
        table = self._file.read_row_group(
            number, columns=schema.ELEMENTS.names, use_threads=False
        ).cast(schema.ELEMENTS)
        return np.asarray(table["op"]), table

    def _told(self, table: Any) -> list[Element]:
        keys = self.keys
        return [
            Element(
                kind,
                position,
                None if key is None else keys[key],
                offset,
                self.values[value] if boxed else value,
            )
            for _, position, kind, key, offset, value, boxed in zip(
                *map(listed, table.columns), strict=True
            )
        ]


def scan(history: History) -> tuple[int, Iterator[Any]]:
    """As above, of any history."""
    if isinstance(history, LeanHistory):
        return history.scan()
    table = history.elements.select(SCANNED)
    return len(table), iter(table.to_batches(_BATCH_ROWS))


def ops_in(history: History, rows: Sequence[int]) -> Iterator[Op]:
    """The operations in these rows of any history, in ascending order."""
    if isinstance(history, LeanHistory):
        return history.many(rows)
    index = history.ops["index"]
    return (history.op(index[row].as_py()) for row in rows)


def _table(path: Path) -> Any:
    return pq.read_table(
        path, memory_map=False, use_threads=False, page_checksum_verification=True
    ).replace_schema_metadata(None)
