"""How the records of each topic were spread over its partitions, and which of them was hot.

reports/skew.py defines what is hot: twice the even share of the topic, or three quarters of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pipeline.figures.figure import OF_RUN, Figure, count, flag, number, text
from reports.skew import HOT, HOT_SHARE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pipeline.figures.material import Material

_NOT_OF_A_PARTITION: Final = "-?[^-]*$"


def by_partition(material: Material) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    logs = material.partition_slots.groupBy("run", "log").agg(
        F.sum("acked").alias("acknowledged"), F.sum("read").alias("read")
    )
    of_topic = Window.partitionBy("run", "topic")
    whole = F.sum("acknowledged").over(of_topic)
    share = F.when(whole > 0, F.col("acknowledged") / whole).otherwise(0.0)
    partitions = F.count("*").over(of_topic)
    limit = F.least(HOT / F.col("partitions"), F.lit(HOT_SHARE))
    return (
        logs.withColumn("topic", F.regexp_replace("log", _NOT_OF_A_PARTITION, ""))
        .withColumns({"partitions": partitions, "share": share})
        .withColumn("is_hot", (F.col("partitions") > 1) & (F.col("share") > limit))
        .withColumn("share", F.round("share", 4))
        .withColumnRenamed("log", "partition")
    )


def hot(material: Material) -> DataFrame:
    """For each release, workload and topic, the partition with the largest share in any run."""
    from pyspark.sql import functions as F  # noqa: N812

    load = material.figure("load").join(material.runs.select("run", "release", "workload"), "run")
    hottest = F.max_by(F.struct("run", "partition"), "share")
    of_topic = load.groupBy("release", "workload", "topic").agg(
        F.count_distinct("run").alias("runs"),
        F.count_distinct(F.when(F.col("is_hot"), F.col("run"))).alias("runs_with_hot"),
        F.max("share").alias("largest_share"),
        hottest.alias("hottest"),
    )
    return of_topic.select("*", "hottest.run", "hottest.partition")


FIGURES: Final = (
    Figure(
        name="load",
        about="Acknowledged records of each partition, and its share of its topic.",
        columns=(
            OF_RUN,
            text("topic", "the topic"),
            text("partition", "the partition, as `orders-3`"),
            count("acknowledged", "records that were acknowledged"),
            count("read", "records that polls returned, however often"),
            number("share", "share of the acknowledged records of its topic"),
            count("partitions", "partitions of the topic that were written or read"),
            flag("is_hot", "whether it got more than its share, as the report says"),
        ),
        compute=by_partition,
        order=("run", "partition"),
        is_shown=False,
    ),
    Figure(
        name="hot_partitions",
        about="Topics whose load was uneven, with the hottest partition.",
        columns=(
            text("release", "the version that was tested"),
            text("workload", "the workload"),
            text("topic", "the topic"),
            count("runs", "runs that wrote to it"),
            count("runs_with_hot", "of these, runs with a hot partition"),
            number("largest_share", "the largest share of a partition in any of these runs"),
            text("partition", "the partition with that share"),
            text("run", "the run with that share"),
        ),
        compute=hot,
        order=("release", "workload", "topic"),
    ),
)
