"""Last step: one task judges what is left."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from checkers.transactions.list_append import WholeLists
from harness.history import kinds
from pipeline.check import rows
from pipeline.check.cut.job import Uncut
from pipeline.check.cycles.job import CutLists, Smaller
from pipeline.check.histories import ELEMENT_COLUMNS, OPERATION_COLUMNS, history_of
from pipeline.check.judge_run import Asked, judge_run
from pipeline.session import batches_of_any_size

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_OPERATIONS, _ELEMENTS, _MENTIONS, _ASKED = "operations", "elements", "mentions", "asked"
_NOBODY: Final = -1
"""The row, index and process of a stand-in operation that comes before all others."""


def lists_in_parts(
    asked: Asked, operations: DataFrame, elements: DataFrame
) -> tuple[CutLists, DataFrame | Uncut]:
    """Rows of the verdict, or why the history cannot be judged in parts."""
    history = CutLists(elements, operations)
    with batches_of_any_size(elements.sparkSession):
        smaller = history.smaller()
    if isinstance(smaller, Uncut):
        return history, smaller
    return history, _judged(smaller, asked)


def _judged(smaller: Smaller, asked: Asked) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.pandas.types import from_arrow_schema

    parts = {
        _OPERATIONS: smaller.operations.select(*OPERATION_COLUMNS),
        _ELEMENTS: smaller.elements.select(*ELEMENT_COLUMNS),
        _MENTIONS: smaller.mentions,
    }
    # Of a history in which nothing is wrong nothing may be left, and Spark has no empty groups.
    told = smaller.operations.sparkSession.range(1).select(F.lit(_ASKED).alias("part"))
    for name, frame in parts.items():
        mine = frame.withColumn("part", F.lit(name))
        told = told.unionByName(mine, allowMissingColumns=True)
    judge = _judge(asked, smaller.whole)
    return told.groupBy().applyInArrow(judge, from_arrow_schema(rows.SCHEMA))


def _judge(asked: Asked, whole: WholeLists) -> Callable[[pa.Table], pa.Table]:
    def judge(group: pa.Table) -> pa.Table:
        part = group["part"]

        def of(name: str, columns: tuple[str, ...]) -> pa.Table:
            return group.filter(pa.compute.equal(part, name)).select(columns)

        operations, elements = of(_OPERATIONS, OPERATION_COLUMNS), of(_ELEMENTS, ELEMENT_COLUMNS)
        mentions = of(_MENTIONS, ELEMENT_COLUMNS)
        if len(mentions):
            operations = pa.concat_tables([_nobody(operations.schema), operations])
            elements = pa.concat_tables([_of_nobody(mentions), elements])
        history = history_of(operations, elements, is_torn=asked.is_torn)
        return rows.rows_of(asked.run, judge_run(asked, history, lists=whole))

    return judge


def _nobody(schema: pa.Schema) -> pa.Table:
    """An operation of no client, so that what it says only numbers values."""
    said = {"row": _NOBODY, "index": _NOBODY, "time_ns": 0, "process": _NOBODY}
    return pa.Table.from_pylist([{**said, "type": "info", "f": "first-mentions"}], schema=schema)


def _of_nobody(mentions: pa.Table) -> pa.Table:
    count = len(mentions)
    said = {
        "row": np.full(count, _NOBODY, np.int32),
        "number": np.arange(-count, 0),
        "position": np.arange(count, dtype=np.int32),
        "kind": np.full(count, kinds.APPEND, np.int8),
    }
    for name, column in said.items():
        at = mentions.schema.get_field_index(name)
        field = mentions.schema.field(name)
        mentions = mentions.set_column(at, field, pa.array(column, field.type))
    return mentions
