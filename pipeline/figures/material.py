"""The frames that several figures share, computed once.

A call is an invocation with its completion, as in reports/calls.py. A stroke is the faults that a
nemesis injected at one moment, in force from the first proof to the last healing, as in
harness/run/survived.py. A fault that missed was never in force.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Final

from harness.history import kinds
from harness.history.op import BACKGROUND, BACKGROUND_AT_ONCE
from harness.history.operations import NOTICES, OPERATIONS
from pipeline.lake import Lake

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

WRITES: Final = tuple(name for name, each in OPERATIONS.items() if each.writes_records)
ANSWERED: Final = tuple(name for name, each in OPERATIONS.items() if each.is_answered)
NS: Final = 1_000_000_000
UNKNOWN_RELEASE: Final = "unknown"
_NO_END: Final = (1 << 63) - 1
_SLOTS_MAX: Final = 240
_OK: Final = 1
"""Code of `ok` in the column `outcome`."""
_SENT_OR_READ: Final = (kinds.SENT, kinds.PUT_AT, kinds.RECORD)
_OF_RUN: Final = (
    *("run", "name", "began", "source", "verdict", "workload", "nemesis", "place", "system"),
    *("release", "client", "acks", "length_ns", "torn"),
)


class Material:
    """Shared frames of one lake, as it was when the lake was opened."""

    def __init__(self, lake: Lake, figure: Callable[[str], DataFrame] | None = None) -> None:
        self.lake = lake
        self._figure = figure
        self._kept: list[DataFrame] = []

    def figure(self, name: str) -> DataFrame:
        """The rows of a figure that was computed before."""
        assert self._figure is not None, "a figure is made of others before they are stored"
        return self._figure(name)

    def close(self) -> None:
        """Free the memory of all frames."""
        for frame in self._kept:
            frame.unpersist()
        self._kept.clear()

    @cached_property
    def runs(self) -> DataFrame:
        """One row for each run, without its long texts; `clients` is the plan's concurrency."""
        from pyspark.sql import functions as F  # noqa: N812

        clients = F.get_json_object("plan", "$.concurrency").cast("int").alias("clients")
        runs = self.lake.table("runs").select(*_OF_RUN, clients)
        # A join does not match nulls.
        release = F.coalesce("release", F.lit(UNKNOWN_RELEASE))
        return self._keep(runs.withColumn("release", release))

    @cached_property
    def strokes(self) -> DataFrame:
        """run, stroke, nemesis, begin_ns, end_ns; a stroke without healing has no end."""
        from pyspark.sql import functions as F  # noqa: N812

        held = self.lake.table("faults").where(F.col("took_hold_ms").isNotNull())
        return self._keep(
            held.withColumn("stroke", F.substring_index("fault", "/", 1))
            .groupBy("run", "stroke")
            .agg(
                F.min("nemesis").alias("nemesis"),
                (F.min("took_hold_ms") * 1_000_000).cast("long").alias("begin_ns"),
                # A stroke ends when all its faults are healed; count() leaves out nulls.
                F.when(
                    F.count("healed_ms") == F.count("*"),
                    (F.max("healed_ms") * 1_000_000).cast("long"),
                )
                .otherwise(F.lit(_NO_END))
                .alias("end_ns"),
            )
        )

    @cached_property
    def strokes_of_runs(self) -> DataFrame:
        """run, strokes: all strokes of a run as one array, small enough to broadcast."""
        from pyspark.sql import functions as F  # noqa: N812

        one = F.struct("begin_ns", "end_ns", "nemesis", "stroke")
        found = self.strokes.groupBy("run").agg(F.sort_array(F.collect_list(one)).alias("strokes"))
        return self._keep(found)

    @cached_property
    def calls(self) -> DataFrame:
        """run, client, f, type, begin_ns, end_ns, faults, healed.

        `faults` names what was in force at the end of the call, `healed` is how many strokes had
        ended by then. A call that has no completion is `info` and ends with the run.
        """
        from pyspark.sql import functions as F  # noqa: N812

        operations = self.lake.table("operations")
        ended = (F.col("type") != "invoke") & F.col("partner").isNotNull()
        open_ = (F.col("type") == "invoke") & F.col("partner").isNull()
        of_run = self.runs.select("run", "clients", "length_ns").join(
            self.strokes_of_runs, "run", "left"
        )
        end_ns = F.when(open_, F.greatest("time_ns", "length_ns")).otherwise(F.col("time_ns"))
        found = (
            operations.where((F.col("process") >= 0) & ~F.col("f").isin(*NOTICES))
            .where(ended | open_)
            .join(F.broadcast(of_run), "run")
            .withColumn("end_ns", end_ns)
            .select(
                "run",
                _client().alias("client"),
                "f",
                F.when(open_, F.lit("info")).otherwise(F.col("type")).alias("type"),
                F.when(open_, F.col("time_ns"))
                .otherwise(F.col("time_ns") - F.col("latency_ns"))
                .alias("begin_ns"),
                "end_ns",
                faults_at("end_ns").alias("faults"),
                _healed_by("end_ns").alias("healed"),
            )
        )
        return self._keep(found)

    @cached_property
    def times(self) -> DataFrame:
        """run, f, type, faults, us, calls: how many calls took so many microseconds."""
        from pyspark.sql import functions as F  # noqa: N812

        us = F.round((F.col("end_ns") - F.col("begin_ns")) / 1000).cast("long")
        counted = self.calls.groupBy("run", "f", "type", "faults", us.alias("us"))
        return self._keep(counted.agg(F.count("*").alias("calls")))

    @cached_property
    def partition_slots(self) -> DataFrame:
        """run, log, slot, acked, acked_to, read, read_to: by partition and slot of time.

        How many records were acknowledged and read in the slot, and up to which offset, exclusive.
        Slots are those of reports/measures.py: at most 240 of a run, of a second or more; number
        `n` ends at `n` times its width. Registers count as the partition that they are in.
        """
        from pyspark.sql import functions as F  # noqa: N812

        is_ack = F.col("kind").isin(kinds.SENT, kinds.PUT_AT)
        # The page of a run counts records of a send only if the whole send was ok.
        counts = ~is_ack | (F.col("outcome") == _OK)
        # Elements of one operation are neighbours, so Spark aggregates most before the shuffle.
        of_calls = (
            self.lake.table("elements")
            .where(F.col("kind").isin(*_SENT_OR_READ) & (F.col("offset") >= 0) & counts)
            .groupBy("run", "row", "key", is_ack.alias("is_ack"))
            .agg(F.count("*").alias("records"), (F.max("offset") + 1).alias("to"))
        )
        completions = (
            self.lake.table("operations")
            .where(F.col("type") != "invoke")
            .select("run", "row", "time_ns")
        )
        width = F.greatest(F.lit(1), F.ceil(F.col("length_ns") / (_SLOTS_MAX * NS))) * NS
        slot = F.greatest(F.lit(1), F.ceil(F.col("time_ns") / width)).cast("int")
        acked, read = F.col("is_ack"), ~F.col("is_ack")
        found = (
            of_calls.join(completions, ["run", "row"])
            .join(F.broadcast(self.runs.select("run", "length_ns")), "run")
            .groupBy("run", "key", slot.alias("slot"))
            .agg(
                F.sum(F.when(acked, F.col("records")).otherwise(0)).alias("acked"),
                F.max(F.when(acked, F.col("to"))).alias("acked_to"),
                F.sum(F.when(read, F.col("records")).otherwise(0)).alias("read"),
                F.max(F.when(read, F.col("to"))).alias("read_to"),
            )
            .withColumn("log", _log())
        )
        return self._keep(found.drop("key"))

    @cached_property
    def group_rows(self) -> DataFrame:
        """run, process, row, time_ns, f: polls, leaves and notices of groups that were ok."""
        from pyspark.sql import functions as F  # noqa: N812

        names = ("assigned", "revoked", "lost", "poll", "leave")
        rows = self.lake.table("operations").where(F.col("f").isin(*names))
        rows = rows.where((F.col("type") == "ok") & (F.col("process") >= 0))
        return rows.select("run", "process", "row", "time_ns", "f")

    @cached_property
    def checks(self) -> DataFrame:
        """run, checker, findings, looked_at."""
        from pyspark.sql import functions as F  # noqa: N812

        looked_at = F.get_json_object("stats", "$['looked-at']").cast("long").alias("looked_at")
        return self.lake.table("checks").select("run", "checker", "findings", looked_at)

    def _keep(self, frame: DataFrame) -> DataFrame:
        from pyspark import StorageLevel

        kept = frame.persist(StorageLevel.MEMORY_AND_DISK)
        self._kept.append(kept)
        return kept


def _client() -> Column:
    """Number of the client, from 1; the process if the number of clients is unknown."""
    from pyspark.sql import functions as F  # noqa: N812

    process = F.col("process")
    behind = F.floor((process - BACKGROUND) / BACKGROUND_AT_ONCE)
    own = F.when(process < BACKGROUND, process).otherwise(behind)
    return F.when(F.col("clients") > 0, own % F.col("clients") + 1).otherwise(own).cast("int")


def faults_at(time: str) -> Column:
    """Nemeses with a stroke in force at this time, as `kill+partition`; needs `strokes`."""
    from pyspark.sql import functions as F  # noqa: N812

    def is_in_force(stroke: Column) -> Column:
        return (stroke["begin_ns"] <= F.col(time)) & (stroke["end_ns"] >= F.col(time))

    names = F.transform(F.filter("strokes", is_in_force), lambda stroke: stroke["nemesis"])
    joined = F.concat_ws("+", F.array_sort(F.array_distinct(names)))
    return F.when(F.col("strokes").isNull(), F.lit("")).otherwise(joined)


def _healed_by(time: str) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    count = F.size(F.filter("strokes", lambda stroke: stroke["end_ns"] <= F.col(time)))
    return F.when(F.col("strokes").isNull(), F.lit(0)).otherwise(count)


def _log() -> Column:
    """The partition `keyed-1` of the key `keyed-1/name`, as `log_of` in reports/leading.py."""
    from pyspark.sql import functions as F  # noqa: N812

    plain = F.get_json_object(F.concat(F.lit("["), F.col("key"), F.lit("]")), "$[0]")
    return F.regexp_replace(plain, r"^((?:[^/]*-)?[0-9]+)/.*$", "$1")
