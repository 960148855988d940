"""A lake: a directory of Parquet tables, and the log that names the files that count.

    LAKE/_log/000000000003.json                        one change of the lake
    LAKE/operations/batch=3f2a.../date=2026-11-18/     rows that one command wrote

Tables are read as they were when the `Lake` was opened, whatever is written meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from harness.errors import UsageFailure
from pipeline.lake_log import ALL_TABLES, Entry, LakeLog, Snapshot
from pipeline.schema import TABLES, VERSION
from pipeline.writers import may_live, this_process

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """How rows of one version of the schema become rows of the next."""

    older: Mapping[str, pa.Schema]
    """By table, the columns of the older version that have another type now, or were removed."""
    upgrade: Callable[[str, DataFrame], DataFrame]
    """A table's rows with the columns of both versions -> with those of the next."""


MIGRATIONS: Mapping[int, Migration] = {}
"""Migrations by older version. Columns that a version lacks are null without a migration."""


class Lake:
    def __init__(self, spark: SparkSession, root: str) -> None:
        self.spark = spark
        self.log = LakeLog(spark, root)
        self.root = self.log.root
        self.snapshot: Snapshot = self.log.snapshot()

    def refresh(self) -> None:
        """Read the changes that were committed since."""
        self.snapshot = self.log.snapshot()

    def require(self) -> None:
        """UsageFailure if there is no lake, or it has no runs."""
        if not self.snapshot.batches:
            raise UsageFailure(
                f"{self.root} has no runs yet; harness lake ingest fills it from the store"
            )

    def table(self, name: str, batches: Container[str] | None = None) -> DataFrame:
        """The rows of a table, of all batches or of these, in the current schema.

        `run` is the first column, `date` and `batch` are the last.
        """
        by_version: dict[int, list[str]] = {}
        for batch, version in self.snapshot.batches.items():
            if batches is None or batch in batches:
                by_version.setdefault(version, []).append(batch)
        frames = [self._of_version(name, version, each) for version, each in by_version.items()]
        if not frames:
            return self.spark.createDataFrame([], _struct(name))
        whole = reduce(lambda one, other: one.unionByName(other), frames)
        return self._without_hidden(name, whole)

    def views(self) -> None:
        """Every table as a temporary view of its name, for SQL."""
        for name in TABLES:
            self.table(name).createOrReplaceTempView(name)

    def new_batch(self) -> str:
        """The name of a new batch, marked as being written by this process."""
        batch = uuid4().hex[:12]
        self.log.mark(batch, this_process())
        return batch

    def write(self, name: str, frame: DataFrame, batch: str) -> None:
        """Rows with `run`, the table's columns and `date`. They are not visible before `commit`."""
        table = TABLES[name]
        (
            frame.select(*table.schema.names, "date")
            .sortWithinPartitions("date", "run", *table.order)
            # A directory for each batch, because Spark removes files that it takes for its own:
            # two commands at the same time must not write to one directory.
            .write.mode("append")
            .partitionBy("date")
            .parquet(f"{self.root}/{name}/batch={batch}")
        )

    def commit(
        self,
        by: str,
        *,
        adds: Sequence[str] = (),
        removes: Sequence[str] = (),
        hides: Sequence[tuple[str, str, str]] = (),
    ) -> None:
        entry = Entry(by=by, adds=tuple(adds), removes=tuple(removes), hides=tuple(hides))
        self.log.append(entry, self.snapshot)
        for batch in adds:
            self.log.unmark(batch)
        self.refresh()

    def abandon(self, batch: str) -> None:
        """Remove the files of a batch that is not committed."""
        for name in TABLES:
            self.log.delete(name, f"batch={batch}")
        self.log.unmark(batch)

    def collect_garbage(self) -> list[str]:
        """Remove the files of batches that no entry names and whose writer is dead."""
        self.refresh()
        living = {batch for batch, writer in self.log.marks() if may_live(writer)}
        kept = living | set(self.snapshot.batches)
        gone = set[str]()
        for name in self.log.directories():
            for directory in self.log.directories(name):
                batch = directory.removeprefix("batch=")
                if batch != directory and batch not in kept:
                    self.log.delete(name, directory)
                    gone.add(batch)
        for batch, _ in [*self.log.marks()]:
            if batch not in living:
                self.log.unmark(batch)
        return sorted(gone)

    def _of_version(self, name: str, version: int, batches: Sequence[str]) -> DataFrame:
        path = f"{self.root}/{name}"
        there = {each.removeprefix("batch=") for each in self.log.directories(name)}
        paths = [f"{path}/batch={batch}" for batch in batches if batch in there]
        if not paths:
            return self.spark.createDataFrame([], _struct(name))
        steps = [MIGRATIONS[older] for older in range(version, VERSION) if older in MIGRATIONS]
        struct = _struct(name, [step.older[name] for step in steps if name in step.older])
        rows = self.spark.read.option("basePath", path).schema(struct).parquet(*paths)
        for step in steps:
            rows = step.upgrade(name, rows)
        return rows.select(*_struct(name).names)

    def _without_hidden(self, name: str, rows: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812

        hidden = [
            (batch, run)
            for table, batch, run in self.snapshot.hidden
            if table in (name, ALL_TABLES)
        ]
        if not hidden:
            return rows
        gone = self.spark.createDataFrame(hidden, "batch string, run string")
        return rows.join(F.broadcast(gone), ["batch", "run"], "left_anti").select(*rows.columns)


def _struct(name: str, older: Sequence[pa.Schema] = ()) -> StructType:
    """The schema of a table for Spark; columns of `older` override those of the same name."""
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import DateType, StringType

    fields = {field.name: field for each in (TABLES[name].schema, *older[::-1]) for field in each}
    struct = from_arrow_schema(pa.schema(list(fields.values())))
    for field in struct.fields:
        # A file of an older version may lack a column.
        field.nullable = True
    return struct.add("date", DateType()).add("batch", StringType())
