"""A history on disk, read column by column and no more of it than is judged.

Of an invocation that ended well the completion says all, so its elements, a quarter of a long
history, are left where they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, overload

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped, unused-ignore]

from checkers.arrays import Bools
from checkers.columns import OK, Columns, Elements, elements_from, ops_from
from harness.history.history import PARQUET, History
from harness.history.json_text import decode
from harness.history.op import Key, Op
from harness.history.parquet import has_all_parts, is_marked_torn, read_part

_ELEMENTS = ("op", "position", "kind", "key", "offset", "value", "boxed")
_TIMESTAMP = "timestamp"
"""The optional column, read apart from the others and only when a checker asks for it."""


class StoredHistory:
    """What checkers need of a history besides its columns, read when it is asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def at(cls, path: Path) -> StoredHistory | None:
        """None if there is no Parquet there, or none that this can read."""
        for directory in (path / PARQUET, path):
            if has_all_parts(directory):
                names = pq.read_schema(directory / "elements.parquet").names
                is_known = names in (list(_ELEMENTS), [*_ELEMENTS, _TIMESTAMP])
                return cls(directory) if is_known else None
        return None

    def __len__(self) -> int:
        return int(pq.read_metadata(self.path / "ops.parquet").num_rows)

    @cached_property
    def is_torn(self) -> bool:
        return is_marked_torn(self.path)

    @cached_property
    def keys(self) -> Sequence[Key]:
        return _Decoded(self._texts("keys"))

    @cached_property
    def values(self) -> Sequence[Any]:
        return _Decoded(self._texts("values"))

    def _texts(self, name: str) -> list[str]:
        texts: list[str] = read_part(self.path / f"{name}.parquet", ["json"])["json"].to_pylist()
        return texts

    def op(self, index: int) -> Op:
        return self._whole.op(index)

    @cached_property
    def _whole(self) -> History:
        return History.load(self.path)

    @cached_property
    def columns(self) -> Columns:
        table = read_part(
            self.path / "ops.parquet", columns=["index", "time", "process", "type", "f"]
        )
        ops = ops_from(table)
        del table
        columns = Columns(self, ops=ops, elements=_Gathered(0).elements())
        columns.elements = self._elements(_spoken_for(columns))
        return columns

    def _elements(self, left_out: Bools) -> Elements:
        gathered = _Gathered(self._file.metadata.num_rows)
        for part in _parts(self._file, _ELEMENTS):
            gathered.add(elements_from(part), left_out)
        return gathered.elements()

    @property
    def _file(self) -> pq.ParquetFile:
        return pq.ParquetFile(self.path / "elements.parquet", page_checksum_verification=True)

    @property
    def timestamps(self) -> pa.ChunkedArray | None:
        """Timestamps of the elements that are judged; None if the history has none."""
        if _TIMESTAMP not in self._file.schema_arrow.names:
            return None
        left_out, kept = _spoken_for(self.columns), []
        for part in _parts(self._file, ("op", _TIMESTAMP)):
            kept.append(part[_TIMESTAMP].filter(pa.array(~left_out[part["op"].to_numpy()])))
        chunks = [chunk for each in kept for chunk in each.chunks]
        return pa.chunked_array(chunks, pa.int64())


def _parts(file: pq.ParquetFile, names: Sequence[str]) -> Iterator[pa.Table]:
    """These columns of a file, a row group at a time; the next is read while one is gathered."""
    groups = iter(range(file.num_row_groups))

    def read(group: int) -> pa.Table:
        return file.read_row_group(group, columns=names)

    with ThreadPoolExecutor(1) as reader:
        coming = [reader.submit(read, group) for group in islice(groups, 1)]
        while coming:
            part = coming.pop().result()
            coming += [reader.submit(read, group) for group in islice(groups, 1)]
            yield part


class _Decoded(Sequence[Any]):
    """JSON texts as the values they tell, each when it is asked for."""

    def __init__(self, texts: list[str]) -> None:
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
        return decode(self._texts[number])


def _spoken_for(columns: Columns) -> Bools:
    """Invocations whose completion is ok."""
    partner, type_ = columns.partner, columns.ops.type
    spoken: Bools = (type_ == 0) & (partner >= 0) & (type_[np.maximum(partner, 0)] == OK)
    return spoken


class _Gathered:
    """Columns of elements as they come, a part of the file at a time."""

    def __init__(self, most: int) -> None:
        self._columns: dict[str, Any] = {
            "op": np.empty(most, np.int32),
            "position": np.empty(most, np.int32),
            "kind": np.empty(most, np.int8),
            "key": np.empty(most, np.int32),
            "offset": np.empty(most, np.int64),
            "value": np.empty(most, np.int64),
            "boxed": np.empty(most, np.bool_),
            "told": np.empty(most, np.bool_),
        }
        self._count = 0

    def add(self, part: Elements, left_out: Bools) -> None:
        kept = np.flatnonzero(~left_out[part.op])
        here = slice(self._count, self._count + kept.size)
        for name, column in self._columns.items():
            # None is out of range; were it looked after, all would be copied once more.
            np.take(getattr(part, name), kept, out=column[here], mode="clip")
        self._count += kept.size

    def elements(self) -> Elements:
        for name, column in self._columns.items():
            # Memory that was never written was never given either.
            self._columns[name] = column[: self._count]
            self._columns[name].flags.writeable = False
        return Elements(**self._columns)


def columns_of(history: History | StoredHistory) -> Columns:
    return history.columns if isinstance(history, StoredHistory) else Columns(history)
