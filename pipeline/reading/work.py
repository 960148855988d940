"""Units of work for tasks: a small run as a whole, or a part of a long history."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Protocol

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from harness.errors import EnvironmentFailure
from harness.history import schema
from harness.history.edn_reader import read_edn
from harness.history.errors import HistoryError
from harness.history.history import CHUNKS, PARQUET, History
from harness.history.jsonl import read_jsonl
from harness.store.inside import DamagedError, refuse_strangers
from pipeline.reading.facts import Counts, facts_of
from pipeline.reading.history_rows import whole_elements, whole_operations
from pipeline.reading.portion import Portion, of_rejections, of_rows
from pipeline.reading.rejection import TEXT_MAX, Rejection
from pipeline.reading.source import Source

UNREADABLE = (
    *(HistoryError, EnvironmentFailure, pa.ArrowException, OSError, LookupError, ValueError),
    *(TypeError, AssertionError),
)
"""Exceptions of readers on files that are damaged or come from other programs."""


class Work(Protocol):
    def portions(self) -> Iterator[Portion]: ...


@dataclass(frozen=True, slots=True)
class Whole:
    """A run as a whole: all its rows or, if its history cannot be read, a rejection."""

    source: Source
    model: str

    def portions(self) -> Iterator[Portion]:
        try:
            found = list(self._read())
        except UNREADABLE as error:
            found = [refused(self.source, error)]
        yield from found

    def _read(self) -> Iterator[Portion]:
        source, day = self.source, day_of(self.source)
        history, rejected = _history(source)
        tables = history.tables
        counts = Counts(
            operations=len(tables.ops),
            elements=len(tables.elements),
            length_ns=_length(tables.ops),
            torn=history.is_torn,
            timestamps=schema.TIMESTAMP.name in tables.elements.column_names,
            set_aside=len(rejected),
        )
        yield from small_tables(source, counts, self.model, rejected)
        for batch in whole_operations(source.run, day, tables):
            yield Portion(run=source.run, table="operations", batch=batch)
        for batch in whole_elements(source.run, day, tables):
            yield Portion(run=source.run, table="elements", batch=batch)


def small_tables(
    source: Source, counts: Counts, model: str, rejected: list[Rejection]
) -> Iterator[Portion]:
    facts = facts_of(source, counts, model)
    for table, rows in facts.rows.items():
        yield of_rows(source.run, day_of(source), table, rows)
    if rejected or facts.rejected:
        yield of_rejections(source.run, day_of(source), [*rejected, *facts.rejected])


def refused(source: Source, error: Exception) -> Portion:
    """The rejection of a whole run."""
    where, reason, place = source.path, str(error), None
    if isinstance(error, HistoryError):
        path, _, place = error.where.partition(", ")
        where, reason = path, error.what + (f"; {error.to_try}" if error.to_try else "")
    elif isinstance(error, DamagedError):
        where, reason = str(error.path), error.why
    elif not isinstance(error, EnvironmentFailure):
        reason = f"its history is damaged ({type(error).__name__}: {error})"
    rejection = Rejection(run=source.run, source=where, place=place or None, reason=reason)
    return of_rejections(source.run, day_of(source), [rejection], is_fatal=True)


def day_of(source: Source) -> date:
    return source.began.date()


def _history(source: Source) -> tuple[History, list[Rejection]]:
    path, rejected = Path(source.path), list[Rejection]()
    if source.kind != "text":
        refuse_strangers(path, PARQUET, CHUNKS)
        return History.load(path), rejected

    def set_aside(line: int, why: str, text: str) -> None:
        rejected.append(
            Rejection(
                run=source.run,
                source=source.path,
                place=f"line {line}",
                reason=why,
                text=text[:TEXT_MAX],
            )
        )

    read = read_jsonl if path.suffix == ".jsonl" else read_edn
    tables = read(path, set_aside)
    if not len(tables.ops):
        raise HistoryError("no line of it is an operation", source.path)
    return History(tables), rejected


def _length(ops: pa.Table) -> int:
    return int(ops["time"][-1].as_py()) if len(ops) else 0
