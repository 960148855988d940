"""Whether clients were served: the share of operations that were ok, and of time with a write.

Time is cut into slots of 100 ms. A slot counts if a write waited in it from its beginning, or ended
in it. So a pause of the load is no outage. It is available if a write was acknowledged in it, and
it is inside of faults if a fault was in force at any moment of it. An operation is inside of faults
if one was in force when it ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pipeline.figures.figure import OF_RUN, RELEASE, Figure, count, flag, number
from pipeline.figures.material import WRITES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from pipeline.figures.material import Material

SLOT_NS: Final = 100_000_000
_COUNTS: Final = ("operations", "ok", "fail", "info", "writes_ok", "slots", "slots_available")
_COLUMNS: Final = (
    flag("in_fault", "whether a fault was in force"),
    count("operations", "operations; one without a completion counts as info"),
    count("ok", "operations that happened"),
    count("fail", "operations that certainly did not happen"),
    count("info", "operations with an unknown outcome"),
    count("writes_ok", "writes of records that were acknowledged"),
    number("ok_share", "share of the operations that were ok"),
    count("slots", "slots of 100 ms in which a write waited or ended"),
    count("slots_available", "of these, those in which a write was acknowledged"),
    number("available_share", "share of the slots with an acknowledged write"),
)


def by_run(material: Material) -> DataFrame:
    """Operations and slots are counted apart for each run, in and out of faults, then joined."""
    from pyspark.sql import functions as F  # noqa: N812

    halves = _operations(material).unionByName(_slots(material), allowMissingColumns=True)
    sums = (F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in _COUNTS)
    return _with_shares(halves.groupBy("run", "in_fault").agg(*sums))


def by_release(material: Material) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    whole = material.figure("availability").join(material.runs.select("run", "release"), "run")
    sums = (F.sum(name).alias(name) for name in _COUNTS)
    found = whole.groupBy("release", "in_fault").agg(F.count("*").alias("runs"), *sums)
    return _with_shares(found)


def _operations(material: Material) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    def of(condition: Column) -> Column:
        return F.sum(F.when(condition, F.col("calls")).otherwise(0))

    is_ok = F.col("type") == "ok"
    return material.times.groupBy("run", (F.col("faults") != "").alias("in_fault")).agg(
        F.sum("calls").alias("operations"),
        of(is_ok).alias("ok"),
        of(F.col("type") == "fail").alias("fail"),
        of(F.col("type") == "info").alias("info"),
        of(is_ok & F.col("f").isin(*WRITES)).alias("writes_ok"),
    )


def _slots(material: Material) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    begin = F.floor(F.col("begin_ns") / SLOT_NS)
    end = F.floor(F.col("end_ns") / SLOT_NS)
    is_ok = F.col("type") == "ok"
    slots = (
        material.calls.where(F.col("f").isin(*WRITES))
        .select("run", is_ok.alias("is_ok"), end.alias("end"),
                F.explode(F.sequence(F.least(begin + 1, end), end)).alias("slot"))
        .groupBy("run", "slot")
        .agg(F.max(F.col("is_ok") & (F.col("slot") == F.col("end"))).alias("is_available"))
    )  # fmt: skip

    def overlaps(stroke: Column) -> Column:
        begins, ends = stroke["begin_ns"], stroke["end_ns"]
        return (begins < (F.col("slot") + 1) * SLOT_NS) & (ends >= F.col("slot") * SLOT_NS)

    struck = slots.join(F.broadcast(material.strokes_of_runs), "run", "left")
    in_fault = F.col("strokes").isNotNull() & F.exists("strokes", overlaps)
    return struck.groupBy("run", F.coalesce(in_fault, F.lit(False)).alias("in_fault")).agg(
        F.count("*").alias("slots"),
        F.count_if("is_available").alias("slots_available"),
    )


def _with_shares(found: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    def share(part: str, whole: str) -> Column:
        return F.when(F.col(whole) > 0, F.round(F.col(part) / F.col(whole), 6))

    return found.withColumns(
        {
            "ok_share": share("ok", "operations"),
            "available_share": share("slots_available", "slots"),
        }
    )


FIGURES: Final = (
    Figure(
        name="availability",
        about="Operations that were ok and time with an acknowledged write, for each run.",
        columns=(OF_RUN, *_COLUMNS),
        compute=by_run,
        order=("run", "in_fault"),
        is_shown=False,
    ),
    Figure(
        name="availability_by_release",
        about="Operations that were ok, and time with a write, in and out of faults.",
        columns=(RELEASE, count("runs", "runs with time in or out of faults"), *_COLUMNS),
        compute=by_release,
        order=("release", "in_fault"),
    ),
)
