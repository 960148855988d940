"""How far polls were behind the acknowledged records, by partition.

The lag at a moment is the number of acknowledged offsets beyond all that polls have returned, as in
reports/measures.py. It is taken at the end of each slot of time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pipeline.figures.figure import OF_RUN, RELEASE, Figure, count, number, text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pipeline.figures.material import Material


def by_partition(material: Material) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    so_far = Window.partitionBy("run", "log").orderBy("slot")
    acked_to = F.coalesce(F.max("acked_to").over(so_far), F.lit(0))
    read_to = F.coalesce(F.max("read_to").over(so_far), F.lit(0))
    # The lag does not change in slots without a row.
    slots = material.partition_slots.groupBy("run", "log", "slot").agg(
        F.max("acked_to").alias("acked_to"), F.max("read_to").alias("read_to")
    )
    behind = slots.withColumns({"acknowledged_to": acked_to, "read_to": read_to}).withColumn(
        "lag", F.greatest(F.col("acknowledged_to") - F.col("read_to"), F.lit(0))
    )
    return (
        behind.groupBy("run", "log")
        .agg(
            F.max("acknowledged_to").alias("acknowledged_to"),
            F.max("read_to").alias("read_to"),
            F.max("lag").alias("lag_max"),
            F.max_by("lag", "slot").alias("lag_at_end"),
        )
        .withColumnRenamed("log", "partition")
    )


def by_release(material: Material) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    of_run = (
        material.figure("lag")
        .groupBy("run")
        .agg(F.max("lag_max").alias("lag_max"), F.sum("lag_at_end").alias("lag_at_end"))
        .join(material.runs.select("run", "release", "workload"), "run")
    )
    return of_run.groupBy("release", "workload").agg(
        F.count("*").alias("runs"),
        F.median("lag_max").alias("lag_max_median"),
        F.max("lag_max").alias("lag_max"),
        F.count_if(F.col("lag_at_end") > 0).alias("runs_behind_at_end"),
    )


FIGURES: Final = (
    Figure(
        name="lag",
        about="Records of each partition that were acknowledged and not read yet.",
        columns=(
            OF_RUN,
            text("partition", "the partition"),
            count("acknowledged_to", "end of what was acknowledged, exclusive"),
            count("read_to", "end of what any poll returned, exclusive"),
            count("lag_max", "the largest lag at the end of any slot of time"),
            count("lag_at_end", "the lag when the run ended"),
        ),
        compute=by_partition,
        order=("run", "partition"),
        is_shown=False,
    ),
    Figure(
        name="lag_by_release",
        about="How far polls were behind the acknowledged records.",
        columns=(
            RELEASE,
            text("workload", "the workload"),
            count("runs", "runs that wrote or read records at offsets"),
            number("lag_max_median", "median over runs of the largest lag of a partition"),
            count("lag_max", "the largest lag of a partition in any run"),
            count("runs_behind_at_end", "runs that ended with something acknowledged and not read"),
        ),
        compute=by_release,
        order=("release", "workload"),
    ),
)
