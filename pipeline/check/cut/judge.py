"""Last step: one task judges what is left, and finds out whether that was enough."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from checkers.columns import Columns
from checkers.cuts.places import Places, places_of
from checkers.cuts.projection import Gone
from checkers.cuts.slots import Latest, Range
from checkers.cuts.unsure import Unsure
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

_OPERATIONS, _ELEMENTS, _DULL, _WRITTEN = "operations", "elements", "dull", "written"
_DULL_KEY: Final = "dull_key"
PLACES: Final = "places"
"""In the column `table`: records are elsewhere than they say, so the history must be cut anew."""


def judged_smaller(smaller: Smaller, asked: Asked, operations: DataFrame,
                   *, is_final: bool) -> tuple[DataFrame, Places | None]:  # fmt: skip
    """Rows of the verdict, or the places by which the history has to be cut once more.

    `operations` are those of the whole history. If `is_final`, places are known already.
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
        _DULL: smaller.dull.withColumnRenamed("key", _DULL_KEY),
        # Only the plan of a run says how much was to be written.
        _WRITTEN: written.where(F.lit(asked.plan is not None)),
    }
    told: DataFrame | None = None
    for name, frame in parts.items():
        mine = frame.withColumn("part", F.lit(name))
        told = mine if told is None else told.unionByName(mine, allowMissingColumns=True)
    assert told is not None
    end_ns = operations.agg(F.max("time_ns")).collect()[0][0] or 0
    schema = rows.SCHEMA.append(pa.field(PLACES, pa.binary()))
    judge = _judge(asked, smaller.width, smaller.unsure, int(end_ns), is_final=is_final)
    judged = told.groupBy().applyInArrow(judge, from_arrow_schema(schema))
    judged = judged.persist()
    again = judged.where(F.col(PLACES).isNotNull()).select(PLACES).collect()
    found = pickle.loads(bytes(again[0][0])) if again else None  # noqa: S301 - our own task
    return judged.drop(PLACES), found


def _judge(
    asked: Asked, width: int, unsure: Broadcast[Unsure], end_ns: int, *, is_final: bool
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
        gone = Gone.of([*_ranges(of(_DULL), width)], width)
        places = Places({})
        if not is_final:
            places = places_of(LogFacts(Columns(history), gone=gone), unsure.value)
        if places.offsets:
            one = pa.Table.from_pylist([{"run": asked.run}], schema=rows.SCHEMA)
            return one.append_column(PLACES, pa.array([pickle.dumps(places)], pa.binary()))
        written_ns = np.sort(np.asarray(of(_WRITTEN)["time_ns"]))
        part_of = PartOf(gone, written_ns, end_ns)
        found = rows.rows_of(asked.run, judge_run(asked, history, part_of))
        return found.append_column(PLACES, pa.nulls(len(found), pa.binary()))

    return judge


def _ranges(dull: pa.Table, width: int) -> list[Range]:
    empty = np.empty(0, np.int64)
    return [
        Range(row[_DULL_KEY], row["range"], empty, ranges.unpacked(row["dull"], width), empty,
              Latest(), 0, 0, 0)
        for row in dull.select([_DULL_KEY, "range", "dull"]).to_pylist()
    ]  # fmt: skip
