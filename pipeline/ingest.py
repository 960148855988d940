"""Ingest: stored runs and histories become rows of the lake.

The driver lists the sources (listing.py) and leaves out those that the lake has with the same
fingerprint. Tasks read the others, each source once, and return the rows of all tables packed as
Arrow (portion.py), which Spark stores. Then each table is written from them, and one entry of the
lake's log makes all tables visible and hides the rows that they replace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from pipeline.compaction import is_due, merge_small
from pipeline.failures import explained
from pipeline.lake import Lake
from pipeline.lake_log import ALL_TABLES
from pipeline.reading.cutting import share_out
from pipeline.reading.files import LARGE, PartFiles, is_reachable
from pipeline.reading.listing import Listed, listed
from pipeline.reading.portion import REJECTED, of_portion, of_rejections, unpacked
from pipeline.reading.rejection import Rejection
from pipeline.reading.source import Source
from pipeline.reading.work import Whole, Work
from pipeline.schema import DATED, TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PORTIONS: Final = pa.schema(
    [
        pa.field("run", pa.string(), nullable=False),
        pa.field("date", pa.date32(), nullable=False),
        pa.field("table", pa.string(), nullable=False),
        pa.field("rows", pa.int64(), nullable=False),
        pa.field("fatal", pa.bool_(), nullable=False),
        pa.field("packed", pa.binary(), nullable=False),
    ]
)


@dataclass(slots=True, kw_only=True)
class Ingested:
    """The outcome of each source."""

    taken: list[str] = field(default_factory=list)
    """Runs that the lake did not have."""
    replaced: list[str] = field(default_factory=list)
    """Runs that the lake had, and that have changed."""
    skipped: list[str] = field(default_factory=list)
    """Runs that the lake has unchanged."""
    under_way: list[Path] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    """Why each file was set aside."""
    set_aside: int = 0
    """Rows of histories, or files beside a history, that were set aside."""
    rows: dict[str, int] = field(default_factory=dict)
    """Number of rows by table."""


def ingest(
    lake: Lake, paths: Sequence[Path], *, model: str, say: Callable[[str], None] = lambda _: None
) -> Ingested:
    """Take the sources that the lake does not have yet. `say` receives each step as it begins."""
    with explained(lake.root):
        return _ingest(lake, paths, model, say)


def _ingest(lake: Lake, paths: Sequence[Path], model: str, say: Callable[[str], None]) -> Ingested:
    say(f"looking at {len(paths):,} run{'' if len(paths) == 1 else 's'}")
    lake.collect_garbage()
    found = listed(paths)
    known = _known(lake)
    result = Ingested(under_way=found.under_way)
    wanted = list[Source]()
    for source in found.sources:
        old = known.get(source.run)
        if old is not None and old[0] == source.fingerprint:
            result.skipped.append(source.run)
        else:
            wanted.append(source)
    if wanted or found.rejected:
        _Ingest(lake, known, result, say).take(wanted, found, model)
        if is_due(lake):
            merge_small(lake, say)
    return result


def _known(lake: Lake) -> dict[str, tuple[str, str]]:
    """Fingerprint and batch of each run of the lake."""
    rows = lake.table("runs").select("run", "fingerprint", "batch").collect()
    return {row["run"]: (row["fingerprint"], row["batch"]) for row in rows}


@dataclass(slots=True)
class _Ingest:
    lake: Lake
    known: dict[str, tuple[str, str]]
    result: Ingested
    say: Callable[[str], None]

    def take(self, wanted: Sequence[Source], found: Listed, model: str) -> None:
        spark = self.lake.spark
        shared = share_out(spark, wanted, model)
        self.say(f"reading {len(wanted):,} in {len(shared.tasks):,} tasks")
        batch = self.lake.new_batch()
        portions = _portions(spark, shared.tasks, self.lake.root, batch).persist(_storage())
        refused = [*found.rejected, *(each for one in shared.refused for each in of_portion(one))]
        try:
            refused += self._read(portions)
            self._sum_up(wanted, refused)
            self._write(portions, refused, batch)
        finally:
            portions.unpersist()

    def _read(self, portions: DataFrame) -> list[Rejection]:
        """Rejections of runs that cannot be taken at all."""
        counts = portions.groupBy("table", "fatal").sum("rows").collect()
        self.result.rows = {row["table"]: row["sum(rows)"] for row in counts if not row["fatal"]}
        self.result.set_aside = self.result.rows.pop(REJECTED, 0)
        if not any(row["fatal"] for row in counts):
            return []
        rows = _unpacked(portions.where("fatal"), REJECTED).drop("date").collect()
        return [Rejection(**row.asDict()) for row in rows]

    def _sum_up(self, wanted: Sequence[Source], refused: Sequence[Rejection]) -> None:
        self.result.refused = {each.source: each.reason for each in refused}
        bad = {each.run for each in refused}
        for source in wanted:
            if source.run not in bad:
                had = source.run in self.known
                (self.result.replaced if had else self.result.taken).append(source.run)

    def _write(self, portions: DataFrame, refused: Sequence[Rejection], batch: str) -> None:
        from pyspark.sql import functions as F  # noqa: N812

        bad = sorted({each.run for each in refused})
        taken = [*self.result.taken, *self.result.replaced]
        before = _rejected_before(self.lake)
        news = [each for each in refused if each.reason not in before.get(each.run, ("", {}))[1]]
        if not taken and not news:
            self.lake.abandon(batch)
            return
        good = portions.where(~F.col("run").isin(bad) & ~F.col("fatal"))
        for name in TABLES:
            if name in LARGE and is_reachable(self.lake.root):
                continue  # the tasks that read them have written these
            if name != REJECTED and self.result.rows.get(name):
                self.say(f"writing {name}")
                rows = _unpacked(good.where(F.col("table") == name), name)
                self.lake.write(name, rows if name in LARGE else rows.repartition("date"), batch)
        if self.result.set_aside or news:
            rows = _unpacked(good.where(F.col("table") == REJECTED), REJECTED)
            rows = rows.unionByName(_frame(self.lake.spark, news)) if news else rows
            self.lake.write(REJECTED, rows.repartition("date"), batch)
        hides = list(self._replaced())
        # What was written of runs before they turned out to be damaged.
        hides += [(table, batch, run) for run in bad for table in LARGE]
        settled = {*taken, *(run.partition("#")[0] for run in taken), *(each.run for each in news)}
        hides += [(REJECTED, old[0], run) for run, old in before.items() if run in settled]
        self.lake.commit("ingest", adds=[batch], hides=hides)

    def _replaced(self) -> Iterator[tuple[str, str, str]]:
        """All rows of the replaced runs, in whatever batch. A check writes a run's row into a batch
        of its own and hides the older one, but operations stay where an ingest wrote them."""
        batches = {run: {self.known[run][1]} for run in self.result.replaced}
        for _, batch, run in self.lake.snapshot.hidden:
            if run in batches:
                batches[run].add(batch)
        for run, found in batches.items():
            for batch in sorted(found):
                yield ALL_TABLES, batch, run


def _rejected_before(lake: Lake) -> dict[str, tuple[str, set[str]]]:
    """Batch and reasons of each run that was set aside as a whole.

    The lake does not have these runs, so each ingest tries them again.
    """
    rejected = lake.table(REJECTED).join(lake.table("runs").select("run"), "run", "left_anti")
    found: dict[str, tuple[str, set[str]]] = {}
    for row in rejected.select("run", "batch", "reason").distinct().collect():
        found.setdefault(row["run"], (row["batch"], set()))[1].add(row["reason"])
    return found


def _storage() -> Any:
    from pyspark import StorageLevel

    return StorageLevel.DISK_ONLY


def _portions(
    spark: SparkSession, works: Sequence[Sequence[Work]], root: str, batch: str
) -> DataFrame:
    """One task for each list of works. It returns a row for each portion of the small tables, and
    writes the files of the large ones.

    If the lake is on one of Hadoop's file systems, Spark writes the files, so the portions of the
    large tables are rows, too.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    def read(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for each in numbers:
            for number in each.column(0).to_pylist():
                files = PartFiles(Path(root), batch, number) if is_reachable(root) else None
                for work in works[number]:
                    yield from _rows(work, files)
                    if files is not None and not isinstance(work, Whole):
                        files.next_part()
                if files is not None:
                    files.close()

    count = len(works)
    return spark.range(0, count, 1, max(1, count)).mapInArrow(read, from_arrow_schema(_PORTIONS))


def _rows(work: Work, files: PartFiles | None) -> Iterator[pa.RecordBatch]:
    for portion in work.portions():
        rows = portion.batch.num_rows
        is_written = files is not None and portion.table in LARGE
        if is_written and rows and files is not None:
            files.add(portion)
        if rows:
            row = {
                "run": portion.run,
                "date": portion.batch.column("date")[0].as_py(),
                "table": portion.table,
                "rows": rows,
                "fatal": portion.is_fatal,
                "packed": b"" if is_written else portion.packed(),
            }
            yield pa.RecordBatch.from_pylist([row], schema=_PORTIONS)


def _unpacked(portions: DataFrame, table: str) -> DataFrame:
    from pyspark.sql.pandas.types import from_arrow_schema

    def unpack(rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in rows:
            for packed in batch.column(0):
                yield from unpacked(table, packed.as_buffer())

    return portions.select("packed").mapInArrow(unpack, from_arrow_schema(DATED[table]))


def _frame(spark: SparkSession, rejected: Sequence[Rejection]) -> DataFrame:
    from datetime import UTC, datetime

    today = datetime.now(UTC).date()
    tables = [of_rejections(each.run, today, [each]).batch for each in rejected]
    return spark.createDataFrame(pa.Table.from_batches(tables, DATED[REJECTED]))


def held(lake: Lake, paths: Sequence[Path]) -> list[Path]:
    """The runs of `paths` that the lake has unchanged."""
    known = _known(lake)
    return [
        Path(source.path)
        for source in listed(paths).sources
        if known.get(source.run, ("", ""))[0] == source.fingerprint
    ]
