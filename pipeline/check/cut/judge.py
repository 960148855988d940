"""Last step: one task judges the smaller history, unless offsets must be corrected first."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from checkers.arrays import Bools
from checkers.columns import Columns
from checkers.cuts.corrected_offsets import CorrectedOffsets, corrected_offsets
from checkers.cuts.projection import Gone
from checkers.cuts.unacknowledged import Unacknowledged
from checkers.log.facts import LogFacts
from harness.history.operations import Writes, named
from harness.run.judging import PartOf
from pipeline.check import rows
from pipeline.check.cut import ranges
from pipeline.check.cut.job import Smaller
from pipeline.check.histories import ELEMENT_COLUMNS, OPERATION_COLUMNS, history_of
from pipeline.check.judge_run import Asked, judge_run

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

_OPERATIONS, _ELEMENTS, _REMOVABLE, _WRITTEN = "operations", "elements", "removable", "written"
_REMOVABLE_KEY: Final = "removable_key"
_REMOVABLE_COLUMNS: Final = (_REMOVABLE_KEY, "range", "removable")
CORRECTIONS: Final = "corrections"
"""A column: the corrected offsets by which the history must be cut again; null otherwise."""


def judged_smaller(smaller: Smaller, asked: Asked, operations: DataFrame,
                   *, is_final: bool) -> tuple[DataFrame, CorrectedOffsets | None]:  # fmt: skip
    """Rows of the verdict, or the corrected offsets by which the history must be cut again.

    `operations` are those of the whole history. If `is_final`, it was cut with corrected offsets.
    """
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.pandas.types import from_arrow_schema

    written = operations.where(
        (F.col("type") == "ok") & F.col("f").isin(*named(Writes.ALWAYS))
    ).select("time_ns")
    parts = {
        _OPERATIONS: smaller.operations.select(*OPERATION_COLUMNS),
        _ELEMENTS: smaller.elements.select(*ELEMENT_COLUMNS),
        # The elements have a column `key`, which is a text.
        _REMOVABLE: smaller.removable.withColumnRenamed("key", _REMOVABLE_KEY),
        # Only the plan of a run says how much was to be written.
        _WRITTEN: written.where(F.lit(asked.plan is not None)),
    }
    named_parts = (frame.withColumn("part", F.lit(name)) for name, frame in parts.items())
    together = reduce(lambda one, other: one.unionByName(other, True), named_parts)
    end_ns = operations.agg(F.max("time_ns")).collect()[0][0] or 0
    schema = rows.SCHEMA.append(pa.field(CORRECTIONS, pa.binary()))
    judge = _judge(asked, smaller.width, smaller.unacked, int(end_ns), is_final=is_final)
    judged = together.groupBy().applyInArrow(judge, from_arrow_schema(schema))
    judged = judged.persist()
    again = judged.where(F.col(CORRECTIONS).isNotNull()).select(CORRECTIONS).collect()
    if not again:
        return judged.drop(CORRECTIONS), None
    found: CorrectedOffsets = pickle.loads(bytes(again[0][0]))  # noqa: S301 - our own task
    judged.unpersist()
    return judged.drop(CORRECTIONS), found


def _judge(
    asked: Asked, width: int, unacked: Broadcast[Unacknowledged], end_ns: int, *, is_final: bool
) -> Callable[[pa.Table], pa.Table]:
    def judge(group: pa.Table) -> pa.Table:
        part = group["part"]

        def of(name: str) -> pa.Table:
            return group.filter(pa.compute.equal(part, name))

        operations, elements = of(_OPERATIONS), of(_ELEMENTS)
        history = history_of(
            operations.select(OPERATION_COLUMNS),
            elements.select(ELEMENT_COLUMNS),
            is_torn=asked.is_torn,
        )
        gone = Gone.of(_removable(of(_REMOVABLE).select(_REMOVABLE_COLUMNS), width), width)
        corrections = CorrectedOffsets({})
        if not is_final:
            corrections = corrected_offsets(LogFacts(Columns(history), gone=gone), unacked.value)
        if corrections.offsets:
            one = pa.Table.from_pylist([{"run": asked.run}], schema=rows.SCHEMA)
            return one.append_column(
                CORRECTIONS, pa.array([pickle.dumps(corrections)], pa.binary())
            )
        written_ns = np.sort(np.asarray(of(_WRITTEN)["time_ns"]))
        part_of = PartOf(gone, written_ns, end_ns)
        found = rows.rows_of(asked.run, judge_run(asked, history, part_of))
        return found.append_column(CORRECTIONS, pa.nulls(len(found), pa.binary()))

    return judge


def _removable(rows: pa.Table, width: int) -> dict[tuple[int, int], Bools]:
    """By key and number of the range, whether each of its slots is removable."""
    return {
        (row[_REMOVABLE_KEY], row["range"]): ranges.unpacked(row["removable"], width)
        for row in rows.to_pylist()
    }
