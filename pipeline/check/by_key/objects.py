"""The object of each operation: rows of the lake by the field `key` that either half has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]

from checkers.linear.calls import canonical
from harness.history import kinds
from harness.history.errors import HistoryError
from harness.history.json_text import decode
from pipeline.check.histories import ELEMENT_COLUMNS, OPERATION_COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PART, OPERATIONS, ELEMENTS = "part", "operations", "elements"
OBJECT, TASK = "object", "task"
PARTNER: Final = "partner"
_NO_KEY: Final = ""
"""The object of operations without a key. No JSON text is empty."""
_NAMES, _BEGUN = "names", "begun"
"""A part of its own for the rows that name an object, and the row that begins an operation."""
_NAMED: Final = pa.schema(
    [pa.field("row", pa.int32()), pa.field(_BEGUN, pa.int32()), pa.field(OBJECT, pa.string())]
)


def rows_by_object(operations: DataFrame, elements: DataFrame, names: Iterable[str]) -> DataFrame:
    """Operations with these names, both halves, and their elements, with the column `object`.

    Both tables are in one schema, and `part` says which one a row is of. All rows about an
    operation come together once: joins would broadcast tables that are small on disk only because
    they are compressed well.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.pandas.types import from_arrow_schema

    begun = F.when(F.col("type") != "invoke", F.col(PARTNER))
    halves = operations.where(F.col("process") >= 0).select(*OPERATION_COLUMNS, PARTNER)
    halves = halves.withColumn(_BEGUN, F.coalesce(begun, "row"))
    told = elements.withColumn(_BEGUN, F.when(F.col("call") >= 0, F.col("call")))
    told = told.withColumn(_BEGUN, F.coalesce(_BEGUN, "row"))
    extras = told.where(F.col("kind") == kinds.EXTRA).select("row", _BEGUN, "text")
    parts = {
        OPERATIONS: halves,
        ELEMENTS: told.select(*ELEMENT_COLUMNS, _BEGUN),
        _NAMES: extras.mapInArrow(_named, from_arrow_schema(_NAMED)),
    }
    frames = [frame.withColumn(PART, F.lit(name)) for name, frame in parts.items()]
    together = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)
    # The name and the outcome of an operation are those of the row that ends it. If its halves name
    # different objects, the end is right.
    is_end = (F.col("type") != "invoke") | F.col(PARTNER).isNull()
    is_ours = (F.col(PART) == OPERATIONS) & is_end & F.col("f").isin(*names)
    of_operation = Window.partitionBy(_BEGUN)
    named = F.max_by(OBJECT, F.when(F.col(PART) == _NAMES, F.col("row"))).over(of_operation)
    return (
        together.withColumn("is_ours", F.max(is_ours).over(of_operation))
        .withColumn(OBJECT, F.coalesce(named, F.lit(_NO_KEY)))
        .where(F.col("is_ours") & (F.col(PART) != _NAMES))
        .drop("is_ours", _BEGUN)
    )


def with_tasks(rows: DataFrame, most: int) -> DataFrame:
    """With the column `task`. Tasks are expected to have half of `most` rows; objects that would
    make this uneven, of more than a quarter of `most`, have a task of their own."""
    from pyspark.sql import functions as F  # noqa: N812

    spark = rows.sparkSession
    is_large = F.col("count") > most // 4
    sizes = rows.groupBy(OBJECT).count()
    sizes = sizes.agg(F.sum("count"), F.collect_list(F.when(is_large, F.col(OBJECT))))
    total, large = sizes.collect()[0]
    tasks = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    tasks = max(tasks, 2 * (total or 0) // max(1, most))
    shared = F.pmod(F.xxhash64(OBJECT), F.lit(tasks))
    if not large:
        return rows.withColumn(TASK, shared)
    own = spark.createDataFrame(list(enumerate(sorted(large), tasks)), f"own long, {OBJECT} string")
    joined = rows.join(F.broadcast(own), OBJECT, "left")
    return joined.withColumn(TASK, F.coalesce("own", shared)).drop("own")


def _named(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For mapInArrow: rows that name an object."""
    for batch in batches:
        # Operations on one object mostly have the same text.
        texts = batch.column("text").dictionary_encode()
        names = pa.array([_object_of(text) for text in texts.dictionary.to_pylist()], pa.string())
        objects = names.take(texts.indices)
        columns = [batch.column("row"), batch.column(_BEGUN), objects]
        named = pa.RecordBatch.from_arrays(columns, schema=_NAMED)
        yield named.filter(pc.is_valid(objects))


def _object_of(text: str) -> str | None:
    try:
        extra: Any = decode(text)
    except HistoryError:
        return None  # the task that gets the operation reports it, as the local engine does
    return str(canonical(extra["key"])) if isinstance(extra, dict) and "key" in extra else None
