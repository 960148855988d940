"""A Structured Streaming query that keeps the status of each run of a topic.

    CHECKPOINT/query      Spark's own: which offsets a micro-batch has, and whether it is done
    CHECKPOINT/rows/7     the records that micro-batch 7 brought
    CHECKPOINT/state/7    the status of every run after it

Spark calls `_Follower.take` once for a micro-batch or, if the driver was killed, again with the
same number and the same offsets. A call writes only the directories of its number, over the files
of an unfinished call, and reads only the state of smaller numbers. So each record counts once,
whenever the driver was killed. Records are kept until their run has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from pipeline.lake_log import LakeLog
from pipeline.live.status import Status, status_or_why

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_STATUS: Final = "run string, status string"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    topic: str
    bootstrap: str
    checkpoint: str
    at_once: int = 200_000
    """Most records of a micro-batch, so that a long backlog is read in steps."""


Show = Callable[[Sequence[Status]], None]


def follow(spark: SparkSession, source: Source, show: Show, *, once: bool) -> StreamingQuery:
    """Start the query. With `once` it ends when it has read all present records.

    `show` gets the status of all runs after each micro-batch, and at the start the stored one.
    """
    follower = _Follower(spark, source, show)
    known = follower.state_before(2**62)
    if known:
        show(sorted(known.values(), key=lambda each: each.run))
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", source.bootstrap)
        .option("subscribe", source.topic)
        .option("startingOffsets", "earliest")
        # Rows that retention has deleted show as missing, because rows are numbered.
        .option("failOnDataLoss", "false")
        .option("maxOffsetsPerTrigger", str(source.at_once))
        .load()
    )
    writer = (
        records.selectExpr("cast(key as string) run", "cast(value as string) text")
        .where("run is not null and text is not null")
        .writeStream.foreachBatch(follower.take)
        .option("checkpointLocation", f"{source.checkpoint}/query")
    )
    writer = (
        writer.trigger(availableNow=True) if once else writer.trigger(processingTime="1 second")
    )
    return writer.start()


class _Follower:
    def __init__(self, spark: SparkSession, source: Source, show: Show) -> None:
        self._spark = spark
        self._files = LakeLog(spark, source.checkpoint)
        self._root = self._files.root
        self._show = show

    def take(self, batch: DataFrame, number: int) -> None:
        batch.write.mode("overwrite").parquet(self._path("rows", number))
        before = self.state_before(number)
        after = {**before, **self._renewed(before, number)}
        rows = [(status.run, status.text()) for status in after.values()]
        frame = self._spark.createDataFrame(rows, _STATUS).coalesce(1)
        frame.write.mode("overwrite").parquet(self._path("state", number))
        self._forget(before, number)
        self._show(sorted(after.values(), key=lambda each: each.run))

    def state_before(self, number: int) -> dict[str, Status]:
        """The status of each run after the last micro-batch below this number."""
        last = max((each for each in self._numbers("state") if each < number), default=None)
        if last is None:
            return {}
        rows = self._spark.read.schema(_STATUS).parquet(self._path("state", last)).collect()
        return {row.run: Status.of_text(row.status) for row in rows}

    def _renewed(self, before: Mapping[str, Status], number: int) -> dict[str, Status]:
        """The new status of each run with records in this micro-batch, from all records of the run.

        One task computes it for each run. Records after the end of a run are ignored.
        """
        from pyspark.sql import functions as F  # noqa: N812

        runs = [row.run for row in self._rows([number]).select("run").distinct().collect()]
        unfinished = [run for run in runs if run not in before or before[run].verdict is None]
        if not unfinished:
            return {}
        known = {run: [*before[run].batches, number] if run in before else [number]
                 for run in unfinished}  # fmt: skip
        records = self._rows(sorted({each for batches in known.values() for each in batches}))
        mine = records.where(F.col("run").isin(unfinished)).groupBy("run")
        found = mine.applyInArrow(_judged_with(known), _STATUS).collect()
        return {row.run: Status.of_text(row.status) for row in found}

    def _rows(self, numbers: Sequence[int]) -> DataFrame:
        paths = [self._path("rows", number) for number in numbers]
        return self._spark.read.schema("run string, text string").parquet(*paths)

    def _forget(self, before: Mapping[str, Status], number: int) -> None:
        """Delete older states, and records that no run needs.

        Records that `before` needs are kept, because Spark may repeat this micro-batch.
        """
        needed = {each for status in before.values() if status.verdict is None
                  for each in status.batches}  # fmt: skip
        for each in self._numbers("rows"):
            if each < number and each not in needed:
                self._files.delete("rows", str(each))
        kept = max((each for each in self._numbers("state") if each < number), default=-1)
        for each in self._numbers("state"):
            if each < kept:
                self._files.delete("state", str(each))

    def _numbers(self, kind: str) -> Iterator[int]:
        return (int(name) for name in list(self._files.directories(kind)) if name.isdigit())

    def _path(self, kind: str, number: int) -> str:
        return f"{self._root}/{kind}/{number}"


def _judged_with(known: Mapping[str, Sequence[int]]) -> Callable[[pa.Table], pa.Table]:
    def judged(records: pa.Table) -> pa.Table:
        run = records["run"][0].as_py()
        status = status_or_why(run, records["text"].to_pylist(), known[run])
        return pa.table({"run": [run], "status": [status.text()]})

    return judged
