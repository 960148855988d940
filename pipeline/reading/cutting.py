"""Divides the work into tasks of about a million rows: many small runs, or a part of one run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from harness.history.errors import HistoryError
from harness.history.parquet import has_all_parts
from pipeline.reading.boundaries import Boundary, links
from pipeline.reading.parts import ElementsPart, Group, Head, LongHistory, OperationsPart
from pipeline.reading.portion import Portion
from pipeline.reading.source import Source, history_in
from pipeline.reading.work import UNREADABLE, Whole, Work, refused

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BYTES_PER_TASK: Final = 4 << 20
"""Bytes of histories on disk that a task reads, about a million rows."""
RUNS_PER_TASK: Final = 256
ELEMENT_GROUPS_PER_TASK: Final = 4
"""Row groups of elements that one task reads. To start a task takes as long as to read one."""

_INTS = pa.list_(pa.int64())
_BOUNDARIES: Final = pa.schema(
    [
        pa.field("history", pa.int32()),
        pa.field("part", pa.int32()),
        pa.field("problem", pa.string()),
        *(pa.field(name, pa.int64()) for name in ("first_index", "last_index", "last_ns")),
        *(pa.field(name, _INTS) for name in ("process", "ends_row", "begins_row", "begins_ns")),
    ]
)


@dataclass(slots=True)
class Shared:
    tasks: list[list[Work]] = field(default_factory=list)
    refused: list[Portion] = field(default_factory=list)
    """Rejections of long histories that cannot be read."""


def share_out(spark: SparkSession, sources: Sequence[Source], model: str) -> Shared:
    shared = Shared()
    long: list[LongHistory] = []
    weight = BYTES_PER_TASK
    for source in sources:
        place = _long(source)
        if place is not None:
            try:
                long.append(LongHistory.of(source, place))
            except UNREADABLE as error:
                shared.refused.append(refused(source, error))
            continue
        if weight + source.weight > BYTES_PER_TASK or len(shared.tasks[-1]) == RUNS_PER_TASK:
            shared.tasks.append([])
            weight = 0
        shared.tasks[-1].append(Whole(source, model))
        weight += source.weight
    if long:
        _cut(spark, long, model, shared)
    return shared


def _long(source: Source) -> Path | None:
    """The directory of its tables, if the history is long enough to be cut."""
    if source.kind == "text" or source.weight <= BYTES_PER_TASK:
        return None
    place = history_in(source.directory)
    return place if place is not None and has_all_parts(place) else None


def _cut(spark: SparkSession, long: Sequence[LongHistory], model: str, shared: Shared) -> None:
    found = _boundaries(spark, long)
    for number, history in enumerate(long):
        own = found[number]
        try:
            boundaries = [_sound(own[part], history) for part in range(len(history.ops))]
            _refuse_disorder(boundaries, history)
        except HistoryError as error:
            shared.refused.append(refused(history.source, error))
            continue
        shared.tasks.append([Head(history, boundaries[-1].last_ns if boundaries else 0, model)])
        parts = zip(history.ops, links(boundaries), strict=True)
        shared.tasks += [[OperationsPart(history, group, tuple(each))] for group, each in parts]
        elements: list[Work] = [ElementsPart(history, group) for group in history.elements]
        size = groups_per_task(len(elements), spark.sparkContext.defaultParallelism)
        shared.tasks += [elements[at : at + size] for at in range(0, len(elements), size)]


def groups_per_task(groups: int, at_once: int) -> int:
    """Fewer in a shorter history, so that there are some tasks for each of those that run at once.

    A task reads one group after the other, so it needs no more memory for several of them.
    """
    return max(1, min(ELEMENT_GROUPS_PER_TASK, groups // (4 * at_once)))


def _sound(found: Boundary | str, history: LongHistory) -> Boundary:
    if isinstance(found, str):
        raise HistoryError(found, f"{history.place}/ops.parquet")
    return found


def _refuse_disorder(boundaries: Sequence[Boundary], history: LongHistory) -> None:
    for one, other in pairwise(boundaries):
        if other.first_index <= one.last_index:
            raise HistoryError(
                f"expected index to be at least {one.last_index + 1}, found {other.first_index}",
                f"{history.place}/ops.parquet",
            )


def _boundaries(
    spark: SparkSession, long: Sequence[LongHistory]
) -> list[dict[int, Boundary | str]]:
    """For each history and part its boundary, or why it cannot be read."""
    from pyspark.sql.pandas.types import from_arrow_schema

    parts = [
        (number, part, history, group)
        for number, history in enumerate(long)
        for part, group in enumerate(history.ops)
    ]

    def look(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for each in batch.column(0).to_pylist():
                number, part, history, group = parts[each]
                row = {"history": number, "part": part, **_looked_at(history, group)}
                yield pa.RecordBatch.from_pylist([row], schema=_BOUNDARIES)

    count = len(parts)
    looked = spark.range(0, count, 1, max(1, count))
    found: list[dict[int, Boundary | str]] = [{} for _ in long]
    for row in looked.mapInArrow(look, from_arrow_schema(_BOUNDARIES)).collect():
        told = row.asDict()
        number, part, problem = (told.pop(name) for name in ("history", "part", "problem"))
        found[number][part] = Boundary(**told) if problem is None else problem
    return found


def _looked_at(history: LongHistory, group: Group) -> dict[str, object]:
    try:
        return asdict(history.boundary(group))
    except UNREADABLE as error:
        return {"problem": error.what if isinstance(error, HistoryError) else str(error)}
