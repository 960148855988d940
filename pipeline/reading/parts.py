"""A long history in Parquet, read a row group at a time; ops and elements apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped, unused-ignore]

from harness.history import schema
from harness.history.errors import HistoryError
from harness.history.parquet import is_marked_torn, read_part
from harness.history.trusted import (
    refuse_dictionary,
    refuse_indices,
    refuse_numbers,
    refuse_pointers,
    refuse_types,
    trusted,
)
from harness.store.inside import refuse_strangers
from pipeline.reading.boundaries import Boundary, Link, boundary
from pipeline.reading.facts import Counts
from pipeline.reading.history_rows import Pairs, elements, operations
from pipeline.reading.portion import Portion
from pipeline.reading.source import Source
from pipeline.reading.speakers import speakers_of_file
from pipeline.reading.work import UNREADABLE, day_of, refused, small_tables


@dataclass(frozen=True, slots=True)
class Group:
    """A row group, and the number of its first row."""

    number: int
    first: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LongHistory:
    """A long history, as the footers of its files describe it."""

    source: Source
    place: str
    ops: tuple[Group, ...]
    elements: tuple[Group, ...]
    operations_count: int
    elements_count: int
    torn: bool
    timestamps: bool

    @classmethod
    def of(cls, source: Source, place: Path) -> LongHistory:
        """HistoryError if it cannot be read."""
        refuse_strangers(place.parent, place.name)
        ops, elements = _footer(place / "ops.parquet"), _footer(place / "elements.parquet")
        return cls(
            source=source,
            place=str(place),
            ops=tuple(_groups(ops)),
            elements=tuple(_groups(elements)),
            operations_count=ops.num_rows,
            elements_count=elements.num_rows,
            torn=is_marked_torn(place),
            timestamps=_has_timestamps(elements),
        )

    def counts(self, length_ns: int) -> Counts:
        return Counts(
            operations=self.operations_count,
            elements=self.elements_count,
            length_ns=length_ns,
            torn=self.torn,
            timestamps=self.timestamps,
        )

    def boundary(self, group: Group) -> Boundary:
        return boundary(self.ops_of(group), group.first)

    def ops_of(self, group: Group) -> pa.Table:
        path = Path(self.place) / "ops.parquet"
        table = trusted(_read(path, group.number), schema.OPS, path)
        refuse_types(table["type"], path)
        refuse_indices(table["index"].to_numpy(), path)
        return table


@dataclass(frozen=True, slots=True)
class Head:
    """The small tables of a long history."""

    history: LongHistory
    length_ns: int
    model: str

    def portions(self) -> Iterator[Portion]:
        source = self.history.source
        try:
            found = list(small_tables(source, self.history.counts(self.length_ns), self.model, []))
        except UNREADABLE as error:
            found = [refused(source, error)]
        yield from found


@dataclass(frozen=True, slots=True)
class OperationsPart:
    history: LongHistory
    group: Group
    links: tuple[Link, ...]

    def portions(self) -> Iterator[Portion]:
        source = self.history.source
        first = self.group.first
        try:
            ops = self.history.ops_of(self.group)
            pairs = Pairs(ops, first)
            for row, partner, began_ns in self.links:
                pairs.link(row - first, partner, began_ns)
            for batch in operations(source.run, day_of(source), ops, pairs, first):
                yield Portion(run=source.run, table="operations", batch=batch)
        except UNREADABLE as error:
            yield refused(source, error)


@dataclass(frozen=True, slots=True)
class ElementsPart:
    history: LongHistory
    group: Group

    def portions(self) -> Iterator[Portion]:
        source = self.history.source
        try:
            for batch in self._batches():
                yield Portion(run=source.run, table="elements", batch=batch)
        except UNREADABLE as error:
            yield refused(source, error)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        source, place = self.history.source, Path(self.history.place)
        path = place / "elements.parquet"
        part = _read(path, self.group.number)
        is_stamped = part.schema.names == schema.STAMPED_ELEMENTS.names
        part = trusted(part, schema.STAMPED_ELEMENTS if is_stamped else schema.ELEMENTS, path)
        count = self.history.operations_count
        refuse_pointers("op", part["op"].to_numpy(), 0, count, str(path))
        keys = read_part(place / "keys.parquet")
        keys = trusted(keys, schema.KEYS, place / "keys.parquet")
        refuse_dictionary(keys, place / "keys.parquet")
        first_value, values = _values(place / "values.parquet", part)
        yield from elements(
            source.run,
            day_of(source),
            part,
            keys["json"],
            values,
            speakers_of_file(self.history.place),
            first=self.group.first,
            first_value=first_value,
        )


def _values(path: Path, part: pa.Table) -> tuple[int, pa.ChunkedArray]:
    """The texts that these elements point to, and the number of the first of them.

    Values are numbered in the order of the history, so those of one part are consecutive.
    """
    pointers = part["value"].filter(part["boxed"])
    ends = pc.min_max(pointers).as_py()
    if ends["min"] is None:
        return 0, pa.chunked_array([], pa.string())
    groups = list(_groups(_footer(path)))
    begins = [group for group in groups if group.first <= ends["min"]]
    wanted = [*begins[-1:], *(g for g in groups if ends["min"] < g.first <= ends["max"])]
    if not wanted:
        raise HistoryError(f"expected a value {ends['min']}, found none", str(path))
    tables = [trusted(_read(path, group.number), schema.VALUES, path) for group in wanted]
    texts = pa.concat_tables(tables)
    refuse_numbers("id", texts["id"].to_numpy() - wanted[0].first, path)
    return wanted[0].first, texts["json"]


def _footer(path: Path) -> Any:
    with _file(path) as file:
        return file.metadata


def _groups(metadata: Any) -> Iterator[Group]:
    first = 0
    for number in range(metadata.num_row_groups):
        yield Group(number, first)
        first += metadata.row_group(number).num_rows


def _has_timestamps(metadata: Any) -> bool:
    names = metadata.schema.to_arrow_schema().names
    if schema.TIMESTAMP.name not in names:
        return False
    column = names.index(schema.TIMESTAMP.name)
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    stats = ((group.column(column).statistics, group.num_rows) for group in groups)
    return any(each is None or each.null_count < rows for each, rows in stats)


def _read(path: Path, group: int) -> pa.Table:
    with _file(path) as file:
        try:
            table = file.read_row_group(group)
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(path, error) from error
    return table.replace_schema_metadata(None)


def _file(path: Path) -> Any:
    if path.exists() and not path.is_file():
        raise HistoryError("it is no regular file", str(path))
    try:
        return pq.ParquetFile(path, memory_map=False, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> HistoryError:
    return HistoryError(f"it cannot be read as Parquet ({error})", str(path))
