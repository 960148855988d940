"""The releases that were tested, in the order of their first runs, with the verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pipeline.figures.figure import RELEASE, Figure, count, moment, text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pipeline.figures.material import Material

_VERDICTS: Final = ("valid", "invalid", "unknown")
_COUNTS: Final = (
    count("runs", "runs of the release"),
    *(count(verdict, f"runs that are {verdict}") for verdict in _VERDICTS),
    count("not_judged", "runs without a verdict"),
)


def by_release(material: Material) -> DataFrame:
    return _counted(material, "system", "release").withColumnsRenamed(
        {"began": "first_began", "last": "last_began"}
    )


def by_day(material: Material) -> DataFrame:
    return _counted(material, "day", "release")


def _counted(material: Material, *by: str) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    runs = material.runs.withColumn("day", F.date_format("began", "yyyy-MM-dd"))
    return runs.groupBy(*by).agg(
        F.min("began").alias("began"),
        F.max("began").alias("last"),
        F.count("*").alias("runs"),
        *(F.count_if(F.col("verdict") == each).alias(each) for each in _VERDICTS),
        F.count_if(F.col("verdict").isNull()).alias("not_judged"),
    )


FIGURES: Final = (
    Figure(
        name="releases",
        about="Releases in the order of their first runs, with the verdicts.",
        columns=(
            text("system", "the kind of broker"),
            RELEASE,
            moment("first_began", "when its first run began"),
            moment("last_began", "when its last run began"),
            *_COUNTS,
        ),
        compute=by_release,
        order=("first_began",),
    ),
    Figure(
        name="verdicts_by_day",
        about="Verdicts of each day and release.",
        columns=(text("day", "the day on which the runs began, UTC"), RELEASE, *_COUNTS),
        compute=by_day,
        order=("day", "release"),
        is_shown=False,
    ),
)
