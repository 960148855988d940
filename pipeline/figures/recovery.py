"""How soon clients were served again after a fault, as reports/served.py defines it.

A client is served when an operation is `ok` that only a broker can answer. The time runs from the
end of the stroke, or from the client's next invocation if it had nothing under way then; a client
that invoked nothing afterwards is left out. The figure also has the first acknowledged write of all
clients, and that of each client.

Calls are first reduced to the first call, answer and write of each client between two ends of
strokes. Only these few rows are joined with the strokes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pipeline.figures.figure import OF_RUN, RELEASE, Figure, count, number, text
from pipeline.figures.material import ANSWERED, NS, WRITES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from pipeline.figures.material import Material

_MEASURES: Final = (
    count("clients", "clients that invoked something after the fault"),
    number("served_median_s", "seconds until a client was served, median of those that were"),
    number("served_longest_s", "seconds until the last of these clients was served"),
    count("never_served", "clients that were not served before the end of the run"),
    number("first_write_s", "seconds from the end of the fault to the first acknowledged write"),
    number(
        "last_client_write_s",
        "seconds until the last client that wrote again had its first acknowledged write",
    ),
)


def by_fault(material: Material) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    ends = (
        material.strokes_of_runs.select("run", F.explode("strokes").alias("stroke"))
        .select("run", "stroke.stroke", "stroke.nemesis", "stroke.end_ns")
        .join(material.runs.select("run", "length_ns"), "run")
        # A fault that was never healed has no end from which clients could recover.
        .where(F.col("end_ns") <= F.col("length_ns"))
    )
    after = ends.join(_stretches(material), "run").where(F.col("until_ns") >= F.col("end_ns"))
    clients = after.groupBy("run", "stroke", "nemesis", "end_ns", "client").agg(
        # The call that was under way at the end of the stroke, or else the next one.
        F.min(F.when(F.col("asked_ns").isNotNull(), F.struct("until_ns", "asked_ns"))).alias(
            "asked"
        ),
        F.min("answered_ns").alias("answered_ns"),
        F.min("written_ns").alias("written_ns"),
    )
    since = F.greatest("end_ns", F.col("asked.asked_ns"))
    served = F.when(F.col("asked").isNotNull(), _seconds(F.col("answered_ns"), since))
    written = _seconds(F.col("written_ns"), F.col("end_ns"))
    return (
        clients.withColumns({"served": served, "written": written})
        .groupBy("run", "stroke", "nemesis", "end_ns")
        .agg(
            F.count("asked").alias("clients"),
            F.median("served").alias("served_median_s"),
            F.max("served").alias("served_longest_s"),
            F.count_if(F.col("asked").isNotNull() & F.col("served").isNull()).alias("never_served"),
            F.min("written").alias("first_write_s"),
            F.max("written").alias("last_client_write_s"),
        )
        .where("clients > 0")
        .withColumn("ended_s", F.round(F.col("end_ns") / NS, 4))
    )


def by_release(material: Material) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    whole = material.figure("recovery").join(material.runs.select("run", "release"), "run")
    return whole.groupBy("release", "nemesis").agg(
        F.count("*").alias("faults"),
        F.median("served_longest_s").alias("served_longest_median_s"),
        F.max("served_longest_s").alias("served_longest_s"),
        F.sum("never_served").alias("never_served"),
        F.median("first_write_s").alias("first_write_median_s"),
        F.max("first_write_s").alias("first_write_longest_s"),
    )


def _stretches(material: Material) -> DataFrame:
    """run, client, healed, until_ns, and the first asked_ns, answered_ns and written_ns."""
    from pyspark.sql import functions as F  # noqa: N812

    is_ok, is_asked = F.col("type") == "ok", F.col("f").isin(*ANSWERED)

    def first(column: str, condition: Column) -> Column:
        return F.min(F.when(condition, F.col(column)))

    return (
        material.calls.where(is_asked | F.col("f").isin(*WRITES))
        .groupBy("run", "client", "healed")
        .agg(
            # All calls of a group end after the same strokes.
            F.max("end_ns").alias("until_ns"),
            first("begin_ns", is_asked).alias("asked_ns"),
            first("end_ns", is_ok & is_asked).alias("answered_ns"),
            first("end_ns", is_ok & F.col("f").isin(*WRITES)).alias("written_ns"),
        )
    )


def _seconds(until: Column, since: Column) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.round((until - since) / NS, 6)


FIGURES: Final = (
    Figure(
        name="recovery",
        about="How soon clients were served again after each fault.",
        columns=(
            OF_RUN,
            text("stroke", "the fault, or all that the nemesis injected at that moment"),
            text("nemesis", "the nemesis"),
            number("ended_s", "when its healing was confirmed"),
            *_MEASURES,
        ),
        compute=by_fault,
        order=("run", "ended_s"),
        is_shown=False,
    ),
    Figure(
        name="recovery_by_release",
        about="How soon clients were served again after faults.",
        columns=(
            RELEASE,
            text("nemesis", "the nemesis"),
            count("faults", "faults that ended under load"),
            number(
                "served_longest_median_s", "median over faults of the client that waited longest"
            ),
            number("served_longest_s", "the longest of all"),
            count("never_served", "how often a client was not served before the end of the run"),
            number("first_write_median_s", "median time to the first acknowledged write"),
            number("first_write_longest_s", "longest time to the first acknowledged write"),
        ),
        compute=by_release,
        order=("release", "nemesis"),
    ),
)
