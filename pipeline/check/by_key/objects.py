"""The object of each operation: rows of the lake by the field `key` that either half has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]

from checkers.arrays import Bools, Ints64
from checkers.linear.calls import canonical
from harness.history import kinds
from harness.history.errors import HistoryError
from harness.history.json_text import decode
from pipeline.check.histories import ELEMENT_COLUMNS, OPERATION_COLUMNS
from pipeline.schema import TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PART, OPERATIONS, ELEMENTS = "part", "operations", "elements"
OBJECT, TASK = "object", "task"
PARTNER: Final = "partner"
_NO_KEY: Final = ""
"""The object of operations without a key. No JSON text is empty."""
BEGUN: Final = "begun"
"""The row that begins an operation, or its only row."""
BLOCK: Final = 1 << 16
_FIELDS = [
    *(TABLES[OPERATIONS].schema.field(name) for name in (*OPERATION_COLUMNS, PARTNER)),
    # Both tables have a column `row`.
    *(TABLES[ELEMENTS].schema.field(name) for name in ELEMENT_COLUMNS if name != "row"),
]
SCHEMA: Final = pa.schema(
    [
        *(field.with_nullable(True) for field in _FIELDS),
        pa.field(PART, pa.string()),
        pa.field(OBJECT, pa.string()),
    ]
)


def rows_by_object(operations: DataFrame, elements: DataFrame, names: Sequence[str]) -> DataFrame:
    """Operations with these names, both halves, and their elements, with the column `object`.

    Both tables are in one schema, and `part` says which one a row is of. All rows about an
    operation come together in blocks of rows that begin operations. Joins would broadcast tables
    that are small on disk only because they are compressed well.
    """
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.pandas.types import from_arrow_schema

    halves = operations.where(F.col("process") >= 0).select(*OPERATION_COLUMNS, PARTNER)
    is_begun = (F.col("type") == "invoke") | F.col(PARTNER).isNull()
    halves = halves.withColumn(BEGUN, F.when(is_begun, F.col("row")).otherwise(F.col(PARTNER)))
    call = F.when(F.col("call") >= 0, F.col("call")).otherwise(F.col("row"))
    told = elements.select(*ELEMENT_COLUMNS, call.alias(BEGUN))
    together = halves.withColumn(PART, F.lit(OPERATIONS)).unionByName(
        told.withColumn(PART, F.lit(ELEMENTS)), allowMissingColumns=True
    )
    block = F.col(BEGUN).cast("long").bitwiseAND(F.lit(~(BLOCK - 1)))
    blocks = together.select(*SCHEMA.names[:-1], BEGUN).groupBy(block.alias("block"))
    return blocks.applyInArrow(objects_of_block(names), from_arrow_schema(SCHEMA))


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


def objects_of_block(names: Sequence[str]) -> Callable[[tuple[pa.Scalar, ...], pa.Table], pa.Table]:
    """For applyInArrow, of the operations that begin in a block, whose key is its first row.
    Operations with other names are left out."""

    def of_block(block: tuple[pa.Scalar, ...], group: pa.Table) -> pa.Table:
        begun = group[BEGUN].to_numpy() - block[0].as_py()
        is_operation = np.asarray(pc.equal(group[PART], OPERATIONS))
        # The name and the outcome of an operation are those of the row that ends it.
        is_end = pc.or_(pc.not_equal(group["type"], "invoke"), pc.is_null(group[PARTNER]))
        is_named = pc.is_in(group["f"], pa.array(names))
        is_ours = np.zeros(BLOCK, np.bool_)
        is_ours[begun[is_operation & _true(is_end) & _true(is_named)]] = True
        objects = _objects(group, begun)
        mine = np.flatnonzero(is_ours[begun])
        named = group.take(mine).append_column(OBJECT, objects.take(pa.array(begun[mine])))
        return named.select(SCHEMA.names)

    return of_block


def _objects(group: pa.Table, begun: Ints64) -> pa.Array:
    """By the rows of a block that begin operations. If the halves of an operation name different
    objects, the end is right."""
    is_extra = pc.and_(pc.equal(group["kind"], kinds.EXTRA), pc.is_valid(group["text"]))
    extras = np.flatnonzero(_true(is_extra))
    extras = extras[np.argsort(group["row"].to_numpy()[extras], kind="stable")]
    # Operations on one object mostly have the same text.
    texts = group["text"].combine_chunks().take(pa.array(extras)).dictionary_encode()
    names = [_object_of(text) for text in texts.dictionary.to_pylist()]
    is_name = np.array([name is not None for name in names], np.bool_)
    codes = texts.indices.to_numpy()
    speaks = is_name[codes]
    number = np.full(BLOCK, len(names))
    # Of several rows the last one stays.
    number[begun[extras[speaks]]] = codes[speaks]
    return pa.array([*names, _NO_KEY], pa.string()).take(pa.array(number))


def _true(column: pa.ChunkedArray) -> Bools:
    """Null is false."""
    return np.asarray(pc.fill_null(column, False))


def _object_of(text: str) -> str | None:
    """As `calls` has it, but as a text."""
    try:
        extra: Any = decode(text)
    except HistoryError:
        return None  # the task that gets the operation reports it, as the local engine does
    return str(canonical(extra["key"])) if isinstance(extra, dict) and "key" in extra else None
