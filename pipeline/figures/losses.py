"""How many acknowledged records were lost, unseen or duplicated, as the checkers counted them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pipeline.figures.figure import OF_RUN, RELEASE, Figure, count, number, text

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from pipeline.figures.material import Material

_CHECKERS: Final = {"lost": "lost-write", "unseen": "unseen", "duplicated": "duplicate"}
"""Checker by column."""
_COUNTS: Final = (
    count("acknowledged", "acknowledged records that the checker `lost-write` looked at"),
    count("lost", "acknowledged records that no poll returned, though polls passed their offset"),
    count("unseen", "acknowledged records that no poll returned, if all was read back"),
    count("duplicated", "records with more than one offset"),
)


def by_run(material: Material) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    def of(checker: str, column: str) -> Column:
        return F.max(F.when(F.col("checker") == checker, F.col(column)))

    counts = {name: of(checker, "findings") for name, checker in _CHECKERS.items()}
    return (
        material.checks.where(F.col("checker").isin(*_CHECKERS.values()))
        .groupBy("run")
        .agg(
            of("lost-write", "looked_at").alias("acknowledged"),
            *(column.alias(name) for name, column in counts.items()),
        )
        .join(material.runs.select("run", "acks"), "run")
    )


def by_acks(material: Material) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    whole = material.figure("losses").join(material.runs.select("run", "release"), "run")
    sums = (F.sum(name).alias(name) for name in ("acknowledged", *_CHECKERS))
    found = whole.groupBy("release", "acks").agg(F.count("*").alias("runs"), *sums)
    shares = {
        f"{name}_share": F.when(
            F.col("acknowledged") > 0, F.round(F.col(name) / F.col("acknowledged"), 9)
        )
        for name in _CHECKERS
    }
    return found.withColumns(shares)


FIGURES: Final = (
    Figure(
        name="losses",
        about="Acknowledged records of each run, and how many were lost or duplicated.",
        columns=(OF_RUN, text("acks", "acks of the producers"), *_COUNTS),
        compute=by_run,
        order=("run",),
        is_shown=False,
    ),
    Figure(
        name="losses_by_acks",
        about="Lost and duplicated records by the acks of the producers.",
        columns=(
            RELEASE,
            text("acks", "acks of the producers"),
            count("runs", "runs whose records were judged"),
            *_COUNTS,
            *(number(f"{name}_share", f"{name}, as a share of acknowledged") for name in _CHECKERS),
        ),
        compute=by_acks,
        order=("release", "acks"),
    ),
)
