"""Rows of one table on the way from a task that reads to the task that writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from harness.history.json_text import readable
from pipeline.reading.facts import Row, rejected_rows
from pipeline.reading.rejection import Rejection
from pipeline.schema import DATED

REJECTED: Final = "rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class Portion:
    run: str
    table: str
    batch: pa.RecordBatch
    is_fatal: bool = False
    """Whether the run cannot be taken at all."""

    def packed(self) -> bytes:
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
        with pa.ipc.new_stream(sink, self.batch.schema, options=options) as stream:
            stream.write_batch(self.batch)
        content: bytes = sink.getvalue().to_pybytes()
        return content


def unpacked(table: str, content: bytes) -> Iterator[pa.RecordBatch]:
    """Rows with the columns of the table, without dictionaries, which Spark does not accept."""
    with pa.ipc.open_stream(content) as stream:
        for batch in stream:
            yield batch.cast(DATED[table])


def of_rows(run: str, day: date, table: str, rows: Iterable[Row]) -> Portion:
    told = [
        {name: _said(value) for name, value in {"run": run, "date": day, **row}.items()}
        for row in rows
    ]
    batch = pa.RecordBatch.from_pylist(told, schema=DATED[table])
    return Portion(run=run, table=table, batch=batch)


def of_rejections(
    run: str, day: date, rejections: list[Rejection], *, is_fatal: bool = False
) -> Portion:
    portion = of_rows(run, day, REJECTED, rejected_rows(rejections))
    return Portion(run=run, table=REJECTED, batch=portion.batch, is_fatal=is_fatal)


def of_portion(portion: Portion) -> Iterator[Rejection]:
    """The rejections of a portion that `of_rejections` made."""
    for row in portion.batch.drop_columns(["date"]).to_pylist():
        yield Rejection(**row)


def _said(value: Any) -> Any:
    return readable(value) if isinstance(value, str) else value
