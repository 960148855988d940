"""Third step: what is left of the history, for one task to judge."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from checkers.arrays import Ints64
from checkers.cuts.lists import Summary
from harness.history import kinds
from pipeline.check.cycles.told import LONGEST
from pipeline.check.histories import ELEMENT_COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_READS: Final = (kinds.READ, kinds.READ_EMPTY, kinds.READ_ELEMENT)
NUMBERED: Final = (kinds.APPEND, kinds.READ_ELEMENT)
"""Kinds of elements whose values a history of lists numbers."""


def kept_elements(
    speaking: DataFrame, told: DataFrame, summary: Summary, members: Ints64
) -> DataFrame:
    """Elements of `speaking`: of lists with findings that are told, all; of those that `members`,
    the operations of cycles, name, what the members say, all appends, and the longest read.

    Appends and the longest read are all that an order of a list follows from, if all its reads are
    beginnings of it. So of such a list other reads may be left out, and nothing else changes but
    that their own dependencies are gone.
    """
    from pyspark.sql import functions as F  # noqa: N812

    spark = speaking.sparkSession
    chosen = rows_of(spark, "op_row", members)
    named = speaking.join(F.broadcast(chosen), "op_row", "left_semi").select("key_id").distinct()
    touched = {row["key_id"] for row in named.collect()}
    entire = summary.told | (touched & summary.disagreeing)
    keys = rows_of(spark, "key_id", touched | entire)
    by_key = speaking.join(
        F.broadcast(keys.withColumn("key_id", F.col("key_id").cast("int"))), "key_id"
    )
    longest = told.where(F.col("what") == LONGEST).select(
        F.col("key").alias("key_id"),
        F.col("source").alias("op_row"),
        F.lit(True).alias("is_longest"),
    )
    longest = longest.join(
        F.broadcast(rows_of(spark, "key_id", touched - entire)), "key_id", "left_semi"
    )
    marked = (
        by_key.join(F.broadcast(longest), ["key_id", "op_row"], "left")
        .join(F.broadcast(chosen.withColumn("is_member", F.lit(True))), "op_row", "left")
        .join(
            F.broadcast(rows_of(spark, "key_id", entire).withColumn("is_entire", F.lit(True))),
            "key_id",
            "left",
        )
    )
    return marked.where(
        F.col("is_entire").isNotNull()
        | F.col("is_member").isNotNull()
        | F.col("is_longest").isNotNull()
        | ~F.col("kind").isin(*_READS)
    ).select("op_row", *ELEMENT_COLUMNS)


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


def first_mentions(elements: DataFrame, kept: DataFrame) -> DataFrame:
    """Of kept values that several keys have: the first element of each with such a value.

    Values are numbered, and findings told, in an order that depends on which key a value belongs
    to: the first one that it is seen with. The smaller history may not have that one.
    """
    from pyspark.sql import functions as F  # noqa: N812

    value = (F.col("value"), F.col("text").isNotNull().alias("boxed"))
    is_numbered = (
        F.col("kind").isin(*NUMBERED) & F.col("value").isNotNull() & F.col("key_id").isNotNull()
    )
    mine = kept.where(is_numbered).select(*value).distinct()
    first = F.min_by(F.struct("key_id", "key", "text"), "number")
    return (
        elements.where(is_numbered)
        .select(*value, "number", "key_id", "key", "text")
        .join(mine, ["value", "boxed"], "left_semi")
        .groupBy("value", "boxed")
        .agg(first.alias("first"), (F.min("key_id") < F.max("key_id")).alias("is_shared"))
        .where("is_shared")
        .select("value", "first.*")
    )


def rows_of(spark: SparkSession, name: str, numbers: Ints64 | Iterable[int]) -> DataFrame:
    """One column of these numbers."""
    column = numbers if isinstance(numbers, np.ndarray) else np.array(sorted(numbers), np.int64)
    return spark.createDataFrame(pa.table({name: pa.array(column, pa.int64())}))
