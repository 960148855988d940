"""What runs reached: states of the protocol, kinds of faults, nemeses, workloads, places, clients.

The runs count the states themselves (`states` in results.json). A state that a place cannot show
has no row, instead of a row with zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pipeline.figures.figure import OF_RUN, RELEASE, Figure, count, text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pipeline.figures.material import Material

STATE: Final = "state"
NEMESIS: Final = "nemesis"
FAULT: Final = "fault"
_OF_PLAN: Final = ("workload", "place", "client")
_WHAT: Final = (
    text("what", "state, nemesis, fault, workload, place or client"),
    text("name", "its name"),
)


def by_run(material: Material) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    states = F.from_json(F.get_json_object("results", "$.figures.states"), "map<string,bigint>")
    of_states = (
        material.lake.table("runs")
        .select("run", F.explode(states).alias("name", "count"))
        .where(F.col("count").isNotNull())
        .withColumn("what", F.lit(STATE))
    )
    held = material.lake.table("faults").where(F.col("took_hold_ms").isNotNull())
    of_faults = [
        held.where(F.col(column).isNotNull())
        .groupBy("run", F.col(column).alias("name"))
        .agg(F.count("*").alias("count"))
        .withColumn("what", F.lit(what))
        for column, what in (("nemesis", NEMESIS), ("kind", FAULT))
    ]
    pairs = F.array(*(F.struct(F.lit(each).alias("what"), F.col(each).alias("name"))
                      for each in _OF_PLAN))  # fmt: skip
    of_plans = (
        material.runs.select("run", F.explode(pairs).alias("pair"))
        .select("run", "pair.what", "pair.name", F.lit(1).alias("count"))
        .where(F.col("name").isNotNull())
    )
    found = of_states
    for other in (*of_faults, of_plans):
        found = found.unionByName(other)
    return found


def by_release(material: Material) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    runs = material.runs.select("run", "release", "began")
    found = material.figure("reached").join(runs, "run")
    return found.groupBy("release", "what", "name").agg(
        F.count("*").alias("runs"),
        F.count_if(F.col("count") > 0).alias("runs_reached"),
        F.max("count").alias("most"),
        F.max_by("run", F.struct("count", "began")).alias("run"),
    )


FIGURES: Final = (
    Figure(
        name="reached",
        about="How often each run reached a state, or had a fault that took hold.",
        columns=(
            OF_RUN,
            *_WHAT,
            count("count", "how often; for a state that is a maximum, how high"),
        ),
        compute=by_run,
        order=("run", "what", "name"),
        is_shown=False,
    ),
    Figure(
        name="reached_by_release",
        about="States, faults, workloads, places and clients, and in how many runs.",
        columns=(
            RELEASE,
            *_WHAT,
            count("runs", "runs that could show it"),
            count("runs_reached", "of these, runs that reached it"),
            count("most", "the highest count of a run"),
            text("run", "the run with that count"),
        ),
        compute=by_release,
        order=("release", "what", "name"),
    ),
)
