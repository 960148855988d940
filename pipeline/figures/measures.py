"""One number for each run and measure, by which releases are compared.

If a run has several numbers, for example one for each recovery, its number is the worst of them: a
reader opens a run to see its worst moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Final

from pipeline.figures.figure import OF_RUN, RELEASE, Figure, number, text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pipeline.figures.material import Material

KIND: Final = ("workload", "nemesis", "place", "system", "client", "acks")
"""Columns that are equal for runs of the same request; only the seed differs."""
_TIMED: Final = ("send", "put", "txn", "poll", "get", "commit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    name: str
    about: str
    unit: str
    is_better_high: bool = False


MEASURES: Final = {
    each.name: each
    for each in (
        Measure(name="available", about="time with an acknowledged write, outside of faults",
                unit="share", is_better_high=True),
        Measure(name="available-in-faults", about="time with an acknowledged write, in faults",
                unit="share", is_better_high=True),
        Measure(name="ok", about="operations that went well, outside of faults", unit="share",
                is_better_high=True),
        Measure(name="ok-in-faults", about="operations that went well, in faults", unit="share",
                is_better_high=True),
        Measure(name="served-again", about="slowest client to be served after a fault", unit="s"),
        Measure(name="first-write", about="slowest first write after a fault", unit="s"),
        Measure(name="rebalance-pause", about="longest pause of a member of a group", unit="s"),
        Measure(name="lag", about="largest lag of a partition", unit="records"),
        Measure(name="lost", about="lost of the acknowledged records", unit="share"),
        Measure(name="duplicated", about="duplicated of the acknowledged records", unit="share"),
        *(
            Measure(name=f"{f}-p{quantile}", about=f"latency of {f} outside of faults, {words}",
                    unit="ms")
            for f in _TIMED
            for quantile, words in ((50, "median"), (99, "99 %"))
        ),
    )
}  # fmt: skip
"""Measures by name, in the order of the page."""


def by_run(material: Material) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    whole = reduce(lambda one, other: one.unionByName(other), _measured(material))
    kinds = (F.coalesce(F.col(each), F.lit("")) for each in KIND)
    runs = material.runs.withColumn("kind", F.concat_ws(" ", *kinds))
    return whole.where(F.col("value").isNotNull()).join(runs, "run")


def _measured(material: Material) -> Iterator[DataFrame]:
    from pyspark.sql import functions as F  # noqa: N812

    def rows(frame: DataFrame, *pairs: tuple[str, str]) -> DataFrame:
        """`pairs`: name of the measure, and expression for its value."""
        each = (
            F.struct(F.lit(name).alias("measure"), F.expr(value).cast("double").alias("value"))
            for name, value in pairs
        )
        return frame.select("run", F.explode(F.array(*each)).alias("one")).select("run", "one.*")

    available = material.figure("availability")
    for suffix, condition in (("", "NOT in_fault"), ("-in-faults", "in_fault")):
        own = available.where(condition)
        yield rows(own, (f"available{suffix}", "available_share"), (f"ok{suffix}", "ok_share"))
    recovered = (
        material.figure("recovery")
        .groupBy("run")
        .agg(F.max("served_longest_s").alias("served"), F.max("first_write_s").alias("written"))
    )
    yield rows(recovered, ("served-again", "served"), ("first-write", "written"))
    paused = material.figure("rebalance_pauses").groupBy("run").agg(F.max("paused_s").alias("s"))
    yield rows(paused, ("rebalance-pause", "s"))
    behind = material.figure("lag").groupBy("run").agg(F.max("lag_max").alias("lag"))
    yield rows(behind, ("lag", "lag"))
    judged = material.figure("losses").where("acknowledged > 0")
    yield rows(
        judged,
        ("lost", "lost / acknowledged"),
        ("duplicated", "duplicated / acknowledged"),
    )
    times = material.figure("latency").where((F.col("faults") == "") & F.col("f").isin(*_TIMED))
    for quantile in ("p50", "p99"):
        yield times.select(
            "run", F.concat("f", F.lit(f"-{quantile}")).alias("measure"),
            F.col(f"{quantile}_ms").alias("value"),
        )  # fmt: skip


FIGURES: Final = (
    Figure(
        name="measures",
        about="One number for each run and measure, by which releases are compared.",
        columns=(
            OF_RUN,
            RELEASE,
            text("workload", "the workload"),
            text("kind", "workload, nemesis, place, system, client and acks: what is comparable"),
            text("measure", "what was measured"),
            number("value", "the number"),
        ),
        compute=by_run,
        order=("run", "measure"),
        is_shown=False,
    ),
)
