"""Third step: what is left of the history, for one task to judge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Final

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from checkers.arrays import Ints64
from harness.history import kinds
from pipeline.check.cycles.list_parts import LONGEST
from pipeline.check.histories import ELEMENT_COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_READS: Final = (kinds.READ, kinds.READ_EMPTY, kinds.READ_ELEMENT)
NUMBERED: Final = (kinds.APPEND, kinds.READ_ELEMENT)
"""Kinds of elements whose values a history of lists numbers."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the smaller history must have."""

    told: set[int]
    """Keys of lists of which findings are reported."""
    disagreeing: frozenset[int]
    """Keys of lists with reads that are no beginning of the list."""
    members: Ints64
    """Rows of the operations of cycles."""


def kept_elements(speaking: DataFrame, told: DataFrame, wanted: Wanted) -> DataFrame:
    """Elements of `speaking`: of lists with reported findings, all; of those that operations of
    cycles name, what these operations say, all appends, and the longest read.

    Appends and the longest read are all that an order of a list follows from, if all its reads are
    beginnings of it. So of such a list other reads may be left out, and nothing else changes but
    that their own dependencies are gone.
    """
    from pyspark.sql import functions as F  # noqa: N812

    spark = speaking.sparkSession
    named = speaking.join(
        F.broadcast(rows_of(spark, "op_row", wanted.members)), "op_row", "left_semi"
    )
    named = named.select("key_id", "op_row").distinct()
    touched = {row["key_id"] for row in named.select("key_id").distinct().collect()}
    entire = wanted.told | (touched & wanted.disagreeing)
    chosen = sorted(touched | entire)
    is_entire = [key in entire for key in chosen]
    keys = spark.createDataFrame(
        pa.table(
            {"key_id": pa.array(chosen, pa.int32()), "is_entire": pa.array(is_entire, pa.bool_())}
        )
    )
    longest = told.where(F.col("what") == LONGEST).select(
        F.col("key").alias("key_id"), F.col("source").alias("op_row")
    )
    longest = longest.join(F.broadcast(keys.where("not is_entire")), "key_id", "left_semi")
    readers = named.unionByName(longest).distinct().withColumn("is_reader", F.lit(True))
    marked = speaking.join(F.broadcast(keys), "key_id").join(
        F.broadcast(readers), ["key_id", "op_row"], "left"
    )
    is_read = F.col("kind").isin(*_READS)
    return marked.where(F.col("is_entire") | F.col("is_reader").isNotNull() | ~is_read).select(
        "op_row", *ELEMENT_COLUMNS
    )


def kept_operations(operations: DataFrame, kept: DataFrame, members: Ints64) -> DataFrame:
    """Those of the elements and the members, with their other halves."""
    from pyspark.sql import functions as F  # noqa: N812

    spark = operations.sparkSession
    rows = reduce(
        lambda one, other: one.unionByName(other),
        [
            kept.select("row"),
            kept.select(F.col("op_row").alias("row")),
            rows_of(spark, "row", members),
        ],
    ).distinct()
    mine = operations.join(rows, "row", "left_semi")
    partners = mine.where(F.col("partner").isNotNull()).select(F.col("partner").alias("row"))
    return operations.join(rows.unionByName(partners).distinct(), "row", "left_semi")


def first_mentions(elements: DataFrame, values: DataFrame) -> DataFrame:
    """Of those values that several keys have: the first element of each with such a value, as
    value, boxed, key_id, key and text.

    Values are numbered, and findings reported, in an order that depends on which key a value
    belongs to: the first one that it is seen with. The smaller history may not have that one.
    """
    from pyspark.sql import functions as F  # noqa: N812

    first = F.min_by(F.struct("key_id", "key", "text"), "number")
    return (
        _numbered(elements)
        .join(values, ["value", "boxed"], "left_semi")
        .groupBy("value", "boxed")
        .agg(first.alias("first"), (F.min("key_id") < F.max("key_id")).alias("is_shared"))
        .where("is_shared")
        .select("value", "boxed", "first.*")
    )


def values_of(kept: DataFrame) -> DataFrame:
    """value, boxed: of the elements whose values are numbered."""
    return _numbered(kept).select("value", "boxed").distinct()


def _numbered(elements: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    has_number = F.col("kind").isin(*NUMBERED) & F.col("value").isNotNull()
    mine = elements.where(has_number & F.col("key_id").isNotNull())
    return mine.withColumn("boxed", F.col("text").isNotNull())


def rows_of(spark: SparkSession, name: str, numbers: Ints64) -> DataFrame:
    """One column of these numbers."""
    return spark.createDataFrame(pa.table({name: pa.array(numbers, pa.int64())}))
