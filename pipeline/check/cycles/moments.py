"""Second step: moments of operations, the windows that follow, and the cycles in them.

Any moments between call and return do (checkers/cuts/moments.py says why), so the rounds that make
them better may end early.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from checkers.arrays import Ints64
from checkers.cuts.moments import Operations, Windows, cyclic_groups
from checkers.findings import SHOWN
from pipeline.check.cycles.list_parts import LINKS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROUNDS: Final = 16
"""More than that are rarely needed, by histories with many operations at once."""
WINDOW_MAX: Final = 1_000_000
"""Operations in windows in which something is wrong: one task may get all of them."""
BUCKET: Final = 1 << 18
"""Windows that begin within so many rows are looked at by one task."""
_WINDOWS: Final = pa.schema([pa.field("start", pa.int64()), pa.field("end", pa.int64())])
_GROUP: Final = pa.schema([pa.field("first", pa.int64()), pa.field("rows", pa.binary())])


@dataclass(frozen=True, slots=True)
class TooWide:
    """More operations than one task may get are in windows in which something is wrong."""

    operations: int


def found_groups(links: DataFrame, operations: DataFrame) -> Ints64 | TooWide:
    """Rows of operations among which there is a cycle: of the first few groups of such operations.

    `links` with the columns LINKS; `operations` with row, call and ret of all that took part.
    """
    from pyspark import StorageLevel

    links = links.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        at = _moments(links)
        placed = _at(_at(links, at, "source"), at, "target")
        windows = _windows(placed)
        of_windows = _in_windows(operations, at, windows)
        if windows.start.size and (count := of_windows.count()) > WINDOW_MAX:
            return TooWide(count)
        told = _linked(placed, windows).unionByName(of_windows, allowMissingColumns=True)
        first = _groups(told).orderBy("first").limit(SHOWN).select("rows").collect()
        found = [np.frombuffer(bytes(row["rows"]), np.int64) for row in first]
        return np.unique(np.concatenate([np.empty(0, np.int64), *found]))
    finally:
        links.unpersist()


def _moments(links: DataFrame) -> DataFrame:
    """row, at: of each operation that depends on others, no earlier than any of these, as far as
    its return allows. The moment of any other operation is its call."""
    from pyspark.sql import functions as F  # noqa: N812

    latest = F.greatest(F.max("target_call"), F.max("source_at"))
    moment = F.least(F.max("target_ret"), latest)
    placed = links.withColumn("source_at", F.col("source_call"))
    total = None
    for _ in range(ROUNDS):
        at = placed.groupBy(F.col("target").alias("row")).agg(moment.alias("at"))
        # Plans that contained those of all rounds before would take longer than the rounds.
        at = at.localCheckpoint()
        before, total = total, at.agg(F.sum("at")).collect()[0][0]
        if total == before:
            break
        placed = _at(links, at, "source")
    return at


def _at(links: DataFrame, at: DataFrame, end: str) -> DataFrame:
    """With the moment of this end, source or target."""
    from pyspark.sql import functions as F  # noqa: N812

    mine = at.select(F.col("row").alias(end), F.col("at").alias(f"{end}_at"))
    known = F.coalesce(f"{end}_at", f"{end}_call")
    return links.join(mine, end, "left").withColumn(f"{end}_at", known)


def _windows(placed: DataFrame) -> Windows:
    """Of dependencies that lead back in time."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.pandas.types import from_arrow_schema

    back = placed.where(F.col("target_at") < F.col("source_at"))
    found = back.select(F.col("target_at").alias("start"), F.col("source_at").alias("end"))
    parts = found.mapInArrow(_merged, from_arrow_schema(_WINDOWS)).toArrow()
    return Windows.merged([_windows_from(parts)])


def _windows_from(table: pa.Table | pa.RecordBatch) -> Windows:
    return Windows.of(np.asarray(table["start"]), np.asarray(table["end"]))


def _merged(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The windows of a partition: its stretches, those that touch each other put together."""
    found = Windows.merged([_windows_from(batch) for batch in batches])
    yield pa.RecordBatch.from_arrays([pa.array(found.start), pa.array(found.end)], schema=_WINDOWS)


def _in_windows(operations: DataFrame, at: DataFrame, windows: Windows) -> DataFrame:
    """All operations in windows of more than one moment, with `window`: real time orders them even
    if they depend on nothing."""
    from pyspark.sql import functions as F  # noqa: N812

    if not windows.start.size:
        return operations.withColumn("window", F.lit(0).cast("long")).limit(0)
    placed = operations.join(at, "row", "left").withColumn("at", F.coalesce("at", "call"))

    def held(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            mine = np.asarray(batch["at"])
            window = pa.array(windows.place(mine))
            yield pa.RecordBatch.from_arrays(
                [batch["row"], batch["call"], batch["ret"], window],
                ["row", "call", "ret", "window"],
            ).filter(pa.array(windows.holds(mine)))

    return placed.select("row", "call", "ret", "at").mapInArrow(
        held, "row long, call long, ret long, window long"
    )


def _linked(placed: DataFrame, windows: Windows) -> DataFrame:
    """Dependencies within one window, with `window`."""

    def held(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            source, target = (
                windows.place(np.asarray(batch[f"{end}_at"])) for end in ("source", "target")
            )
            mine = batch.select(LINKS).append_column("window", pa.array(target))
            yield mine.filter(pa.array(source == target))

    schema = ", ".join(f"{name} long" for name in (*LINKS, "window"))
    return placed.select(*LINKS, "source_at", "target_at").mapInArrow(held, schema)


def _groups(told: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.pandas.types import from_arrow_schema

    by_windows = told.groupBy(F.floor(F.col("window") / BUCKET))
    return by_windows.applyInArrow(_cyclic, from_arrow_schema(_GROUP))


def _cyclic(told: pa.Table) -> pa.Table:
    """Of dependencies and operations of some windows: the groups among which there is a cycle."""
    alone = told.filter(pa.compute.is_valid(told["row"]))
    links = told.filter(pa.compute.is_valid(told["source"]))

    def column(*names: str) -> Ints64:
        own = np.asarray(alone[names[0]])
        return np.concatenate([own, *(np.asarray(links[name]) for name in names[1:])])

    operations = Operations(
        column("row", "source", "target"),
        column("call", "source_call", "target_call"),
        column("ret", "source_ret", "target_ret"),
    )
    source, target = np.asarray(links["source"]), np.asarray(links["target"])
    groups = cyclic_groups(operations, source, target)
    return pa.table(
        [
            pa.array([int(group[0]) for group in groups], pa.int64()),
            pa.array([group.tobytes() for group in groups], pa.binary()),
        ],
        schema=_GROUP,
    )
