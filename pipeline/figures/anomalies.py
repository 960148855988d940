"""Anomalies by kind, and by the fault that was in force.

A finding belongs to the moment at which the first of its operations ended, as on the page of a run,
and to all nemeses with a fault in force then. The page also knows who led, and may name the fault
behind the change of leader instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pipeline.figures.figure import FAULTS, OF_RUN, RELEASE, Figure, count, text
from pipeline.figures.material import faults_at

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pipeline.figures.material import Material

_NEVER: Final = "never"
_KIND: Final = (
    text("checker", "the checker that found it"),
    text("type", "the anomaly"),
    text("promise", "never, allowed or impossible to say"),
)


def by_run(material: Material) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    # The worst promise is the last one of the alphabet: allowed, impossible to say, never.
    shown = (
        material.lake.table("anomalies")
        .groupBy("run", "checker", "type")
        .agg(F.max("promise").alias("promise"), F.count("*").alias("shown"))
    )
    types = shown.groupBy("run", "checker").agg(F.count("*").alias("types"))
    counted = material.checks.select("run", "checker", "findings")
    # A checker counts its findings together, so the count is exact only for a single type.
    findings = F.when(F.col("types") == 1, F.greatest("findings", "shown")).otherwise(
        F.col("shown")
    )
    return (
        shown.join(types, ["run", "checker"])
        .join(counted, ["run", "checker"], "left")
        .withColumn("findings", F.coalesce(findings, F.col("shown")))
    )


def by_fault(material: Material) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    found = material.lake.table("anomalies").select(
        "run", "checker", "number", "type", "promise", F.explode_outer("ops").alias("index")
    )
    times = material.lake.table("operations").select("run", "index", "time_ns")
    # An inner join, for which Spark can broadcast the few findings; a left join would shuffle all
    # operations.
    first = (
        found.join(times, ["run", "index"])
        .groupBy("run", "checker", "number")
        .agg(F.min("time_ns").alias("time_ns"))
    )
    moments = (
        found.drop("index")
        .distinct()
        .join(first, ["run", "checker", "number"], "left")
        .join(F.broadcast(material.strokes_of_runs), "run", "left")
    )
    # A finding that names no operation has no time: null, and not "outside of faults".
    faults = F.when(F.col("time_ns").isNotNull(), faults_at("time_ns"))
    return moments.groupBy("run", "checker", "type", "promise", faults.alias("faults")).agg(
        F.count("*").alias("shown")
    )


def by_release(material: Material) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    runs = material.runs.select("run", "release", "began")
    found = material.figure("anomaly_counts").join(runs, "run")
    return found.groupBy("release", "checker", "type", "promise").agg(
        F.count_distinct("run").alias("runs"),
        F.sum("findings").alias("findings"),
        F.max_by("run", F.struct("findings", "began")).alias("run"),
    )


def faults_by_release(material: Material) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    found = material.figure("anomalies_by_fault").where(F.col("promise") == _NEVER)
    return (
        found.join(material.runs.select("run", "release"), "run")
        .groupBy("release", "type", "faults")
        .agg(F.count_distinct("run").alias("runs"), F.sum("shown").alias("shown"))
    )


FIGURES: Final = (
    Figure(
        name="anomaly_counts",
        about="How many findings of each type a run has.",
        columns=(
            OF_RUN,
            *_KIND,
            count(
                "findings", "findings; of a checker with several types only those that are shown"
            ),
            count("shown", "how many of them the table `anomalies` holds"),
        ),
        compute=by_run,
        order=("run", "checker", "type"),
        is_shown=False,
    ),
    Figure(
        name="anomalies_by_fault",
        about="Findings by the faults in force when the first of their operations ended.",
        columns=(OF_RUN, *_KIND, FAULTS, count("shown", "how many findings, of those shown")),
        compute=by_fault,
        order=("run", "checker", "type", "faults"),
        is_shown=False,
    ),
    Figure(
        name="anomalies_by_release",
        about="Findings of each type, with the run that has the most.",
        columns=(
            RELEASE,
            *_KIND,
            count("runs", "runs with such a finding"),
            count("findings", "findings of all runs"),
            text("run", "the run with the most findings"),
        ),
        compute=by_release,
        order=("release", "-findings"),
    ),
    Figure(
        name="anomaly_faults_by_release",
        about="Forbidden findings by the faults in force; null where no operation is named.",
        columns=(
            RELEASE,
            text("type", "the anomaly"),
            FAULTS,
            count("runs", "runs with such a finding"),
            count("shown", "how many findings, of those shown"),
        ),
        compute=faults_by_release,
        order=("release", "-shown"),
    ),
)
