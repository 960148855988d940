"""How long members of consumer groups owned no partition, by the notices of their groups.

A pause begins when a member gives up the last partition that it owns (`revoked`, `lost`), and ends
when it is assigned some again; its next poll shows that the client has noticed. A member that
leaves, or whose process ends, is gone and not paused. docs/reference/history.md describes the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from harness.history import kinds
from pipeline.figures.figure import OF_RUN, RELEASE, Figure, count, number, text
from pipeline.figures.material import NS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from pipeline.figures.material import Material

_GIVEN_UP: Final = ("revoked", "lost")
_NOTICES: Final = ("assigned", *_GIVEN_UP)


def pauses(material: Material) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    events = _events(material)
    process = Window.partitionBy("run", "process")
    # In descending order: Spark evaluates a frame that shrinks anew for every row.
    following = process.orderBy(F.desc("row")).rowsBetween(Window.unboundedPreceding, -1)
    so_far = process.orderBy("row").rowsBetween(Window.unboundedPreceding, Window.currentRow)

    def next_(name: str) -> Column:
        at = F.when(F.col("f") == name, F.struct("row", "time_ns"))
        return F.last(at, ignorenulls=True).over(following)

    change = F.when(F.col("f") == "assigned", F.col("partitions")).otherwise(-F.col("partitions"))
    known = events.withColumns(
        {
            "owned": F.sum(F.coalesce(change, F.lit(0))).over(so_far),
            "assigned": next_("assigned"),
            "left": next_("leave"),
            "poll": next_("poll"),
        }
    )
    # Only the first poll after each assignment counts.
    polled = known.where(F.col("f") == "assigned").select(
        "run",
        "process",
        F.col("row").alias("assigned_row"),
        F.col("poll.time_ns").alias("polled_ns"),
    )
    stays = F.col("left").isNull() | (F.col("assigned.row") < F.col("left.row"))
    paused = known.where(F.col("f").isin(*_GIVEN_UP) & (F.col("owned") <= 0) & stays)
    paused = paused.where(F.col("partitions") > 0)
    begun = F.col("time_ns")
    return (
        paused.withColumn("assigned_row", F.col("assigned.row"))
        .join(polled, ["run", "process", "assigned_row"], "left")
        .select(
            "run",
            "group",
            "generation",
            "process",
            F.col("f").alias("how"),
            "partitions",
            F.round(begun / NS, 6).alias("began_s"),
            F.round((F.col("assigned.time_ns") - begun) / NS, 6).alias("paused_s"),
            F.round((F.col("polled_ns") - begun) / NS, 6).alias("until_polled_s"),
        )
    )


def groups(material: Material) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    def times(name: str) -> Column:
        return F.count_if(F.col("f") == name).alias(name)

    found = (
        _notices(material)
        .groupBy("run", "group")
        .agg(
            # Clients do not see a generation that assigns nothing.
            F.count_distinct(
                F.when((F.col("f") == "assigned") & (F.col("partitions") > 0), F.col("generation"))
            ).alias("generations"),
            F.count_distinct("process").alias("processes"),
            *map(times, _NOTICES),
        )
    )
    paused = (
        material.figure("rebalance_pauses")
        .groupBy("run", "group")
        .agg(
            F.count("paused_s").alias("pauses"),
            F.median("paused_s").alias("pause_median_s"),
            F.max("paused_s").alias("pause_longest_s"),
        )
    )
    return found.join(paused, ["run", "group"], "left").fillna(0, ["pauses"])


def by_release(material: Material) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    releases = material.runs.select("run", "release")
    of_groups = (
        material.figure("rebalances")
        .join(releases, "run")
        .groupBy("release")
        .agg(
            F.count_distinct("run").alias("runs"),
            F.sum("generations").alias("generations"),
            F.sum("lost").alias("lost"),
        )
    )
    paused = (
        material.figure("rebalance_pauses")
        .join(releases, "run")
        .groupBy("release")
        .agg(
            F.count("paused_s").alias("pauses"),
            F.median("paused_s").alias("pause_median_s"),
            F.max("paused_s").alias("pause_longest_s"),
            F.max("until_polled_s").alias("until_polled_longest_s"),
        )
    )
    return of_groups.join(paused, "release", "left").fillna(0, ["pauses"])


def _notices(material: Material) -> DataFrame:
    """run, process, row, time_ns, f, group, generation, partitions."""
    from pyspark.sql import functions as F  # noqa: N812

    notices = material.group_rows.where(F.col("f").isin(*_NOTICES))
    named = F.col("kind") == kinds.GROUP
    words = (
        material.lake.table("elements")
        .where(F.col("kind").isin(kinds.GROUP, kinds.OWNED))
        .join(notices.select("run", "row"), ["run", "row"], "left_semi")
        .groupBy("run", "row")
        .agg(
            F.first(F.when(named, F.col("text")), ignorenulls=True).alias("group"),
            F.max(F.when(named, F.col("offset"))).alias("generation"),
            F.count_if(F.col("kind") == kinds.OWNED).alias("partitions"),
        )
    )
    group = F.get_json_object(F.concat(F.lit("["), F.col("group"), F.lit("]")), "$[0]")
    return notices.join(words, ["run", "row"]).withColumn("group", group)


def _events(material: Material) -> DataFrame:
    """The notices, and the polls and leaves of the same runs."""
    from pyspark.sql import functions as F  # noqa: N812

    rows, notices = material.group_rows, _notices(material)
    others = rows.where(F.col("f").isin("poll", "leave")).join(
        notices.select("run").distinct(), "run", "left_semi"
    )
    return notices.unionByName(others, allowMissingColumns=True)


_PAUSES: Final = (
    count("pauses", "pauses that ended"),
    number("pause_median_s", "median of the pauses"),
    number("pause_longest_s", "the longest pause"),
)

FIGURES: Final = (
    Figure(
        name="rebalance_pauses",
        about="Each pause in which a member of a group owned no partition.",
        columns=(
            OF_RUN,
            text("group", "the group"),
            count("process", "the process that is the member"),
            count(
                "generation", "the generation, or member epoch, in which it gave up its partitions"
            ),
            text("how", "revoked or lost"),
            count("partitions", "how many partitions it gave up"),
            number("began_s", "when it gave up the last of them, since the run began"),
            number("paused_s", "seconds until it was assigned some again; null for never"),
            number("until_polled_s", "seconds until its first poll after that was answered"),
        ),
        compute=pauses,
        order=("run", "began_s"),
        is_shown=False,
    ),
    Figure(
        name="rebalances",
        about="Generations and assignments of each group, and how long its members paused.",
        columns=(
            OF_RUN,
            text("group", "the group"),
            count("generations", "generations, or member epochs, that assigned something"),
            count("processes", "processes that were members"),
            count("assigned", "assignments"),
            count("revoked", "revocations"),
            count("lost", "times a member learned that it had been removed"),
            *_PAUSES,
        ),
        compute=groups,
        order=("run", "group"),
        is_shown=False,
    ),
    Figure(
        name="rebalances_by_release",
        about="Rebalances of consumer groups, and how long members owned no partition.",
        columns=(
            RELEASE,
            count("runs", "runs with consumer groups"),
            count("generations", "generations, or member epochs, that assigned something"),
            count("lost", "times a member learned that it had been removed"),
            *_PAUSES,
            number("until_polled_longest_s", "the longest time until the next poll was answered"),
        ),
        compute=by_release,
        order=("release",),
    ),
)
