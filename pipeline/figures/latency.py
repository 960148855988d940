"""Latency of operations that were ok, by operation and by the faults in force at their end.

Quantiles are exact for latencies in whole microseconds: calls are counted by latency first, so a
group has at most one row for each different latency, however long the run was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pipeline.figures.figure import FAULTS, OF_RUN, RELEASE, Figure, count, number, text

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from pipeline.figures.material import Material

_QUANTILES: Final = (0.5, 0.9, 0.99)
_MEASURES: Final = (
    count("operations", "operations that were ok"),
    number("p50_ms", "median"),
    number("p90_ms", "90 % took no longer"),
    number("p99_ms", "99 % took no longer"),
    number("max_ms", "the longest"),
)


def by_run(material: Material) -> DataFrame:
    return _quantiles(material.times.where("type = 'ok'"), "run", "f", "faults")


def by_release(material: Material) -> DataFrame:
    releases = material.runs.select("run", "release")
    times = material.times.where("type = 'ok'").join(releases, "run")
    return _quantiles(times, "release", "f", "faults")


def _quantiles(times: DataFrame, *by: str) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    def ms(column: Column) -> Column:
        return F.round(column / 1000, 3)

    return (
        times.groupBy(*by, "us")
        .agg(F.sum("calls").alias("calls"))
        .groupBy(*by)
        .agg(
            F.sum("calls").alias("operations"),
            F.percentile("us", F.array(*map(F.lit, _QUANTILES)), F.col("calls")).alias("us"),
            ms(F.max("us")).alias("max_ms"),
        )
        .select(
            *by,
            "operations",
            *(
                ms(F.col("us")[place]).alias(name)
                for place, name in enumerate(("p50_ms", "p90_ms", "p99_ms"))
            ),
            "max_ms",
        )
    )


FIGURES: Final = (
    Figure(
        name="latency",
        about="Latency of the operations that were ok, for each run.",
        columns=(OF_RUN, text("f", "the operation"), FAULTS, *_MEASURES),
        compute=by_run,
        order=("run", "f", "faults"),
        is_shown=False,
    ),
    Figure(
        name="latency_by_release",
        about="Latency of the operations that were ok.",
        columns=(RELEASE, text("f", "the operation"), FAULTS, *_MEASURES),
        compute=by_release,
        order=("release", "f", "faults"),
    ),
)
