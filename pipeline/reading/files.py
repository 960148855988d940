"""Parquet files of the large tables, written by the task that reads the rows.

Spark's writer takes rows one by one, which takes minutes for a history of a hundred million rows. A
file gets its final name when it is complete, and a task that is tried again writes the same names,
so no row is there twice. Spark ignores files whose names begin with an underscore.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped, unused-ignore]

from pipeline.reading.portion import Portion

LARGE: Final = ("operations", "elements")

_GROUP_ROWS: Final = 1 << 18
_GROWING: Final = {
    "operations": ("row", "index", "time_ns", "latency_ns", "partner"),
    "elements": ("number", "row", "offset", "value", "timestamp"),
}


class PartFiles:
    """Files of one task, one for each large table and day, and for each part of a long history.

    Elements of several parts in one file would come to one batch when Spark reads it, and what a
    batch says of them spans everything between the parts.
    """

    def __init__(self, root: Path, batch: str, task: int) -> None:
        self._root = root
        self._batch = batch
        self._task = task
        self._part = 0
        self._files: dict[tuple[str, date], _PartFile] = {}

    def next_part(self) -> None:
        self.close()
        self._files = {}
        self._part += 1

    def add(self, portion: Portion) -> None:
        day = portion.batch.column("date")[0].as_py()
        file = self._files.get((portion.table, day))
        if file is None:
            directory = self._root / portion.table / f"batch={self._batch}" / f"date={day}"
            directory.mkdir(parents=True, exist_ok=True)
            name = f"part-{self._task:05}-{self._part}.zstd.parquet"
            file = _PartFile(portion.table, directory / name)
            self._files[portion.table, day] = file
        file.add(portion.batch.drop_columns(["date"]))

    def close(self) -> None:
        for file in self._files.values():
            file.close()


class _PartFile:
    def __init__(self, table: str, path: Path) -> None:
        self._table = table
        self._path = path
        self._hidden = path.with_name(f"_{path.name}")
        self._waiting: list[pa.RecordBatch] = []
        self._rows = 0
        self._writer: Any = None

    def add(self, batch: pa.RecordBatch) -> None:
        self._waiting.append(batch)
        self._rows += batch.num_rows
        if self._rows >= _GROUP_ROWS:
            self._write()

    def close(self) -> None:
        if self._rows:
            self._write()
        self._writer.close()
        self._hidden.replace(self._path)

    def _write(self) -> None:
        table = pa.Table.from_batches(self._waiting).unify_dictionaries()
        if self._writer is None:
            growing = _GROWING[self._table]
            self._writer = pq.ParquetWriter(
                self._hidden,
                table.schema,
                compression="zstd",
                compression_level=1,
                use_dictionary=[name for name in table.schema.names if name not in growing],
                column_encoding=dict.fromkeys(growing, "DELTA_BINARY_PACKED"),
                store_schema=False,
            )
        self._writer.write_table(table, row_group_size=_GROUP_ROWS)
        self._waiting, self._rows = [], 0


def is_reachable(address: str) -> bool:
    """Whether a lake is in a local directory, and not on one of Hadoop's file systems."""
    return "://" not in address and not address.startswith("file:")
