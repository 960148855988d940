"""The rounds in which the objects of one history are searched, and what the driver holds.

    operations, elements -> rows by object (objects.py) -> one round of all objects
                                                        -> the next round of open objects -> ...

A task holds some whole objects, so an object is in one task, however large it is. The driver holds
four numbers for each search of an object, and the first refutation.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from checkers.arrays import Ints32, Ints64
from checkers.columns import Columns
from checkers.linear.by_object import Summary, conclude, merge, summarise
from checkers.linear.keyed import KEYED
from checkers.linear.search import shares
from checkers.models import Question
from pipeline.check import rows
from pipeline.check.by_key import objects
from pipeline.check.histories import ELEMENT_COLUMNS, OPERATION_COLUMNS, history_of
from pipeline.check.judge_run import Asked, of_model

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SUMMARY: Final = pa.schema([pa.field(objects.TASK, pa.int64()), pa.field("summary", pa.binary())])


def judged_by_key(
    asked: Asked, operations: DataFrame, elements: DataFrame, task_max: int
) -> DataFrame:
    """Rows in the schema of rows.py, of a history whose model is one of `KEYED`.

    `task_max`: rows of several objects that one task may hold together.
    """
    from pyspark import StorageLevel

    assert asked.model is not None, "a history without a model is one of logs"
    told = objects.rows_by_object(operations, elements, KEYED[asked.model].names)
    told = told.persist(StorageLevel.DISK_ONLY)
    try:
        summary = _searched(objects.with_tasks(told, task_max), asked.model, Question())
        verdict = conclude(summary, asked.model, Question(), ops=operations.count())
    finally:
        told.unpersist()
    return operations.sparkSession.createDataFrame(
        rows.rows_of(asked.run, of_model(asked, verdict))
    )


def _searched(told: DataFrame, model: str, question: Question) -> Summary:
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.pandas.types import from_arrow_schema

    summary = Summary()
    left, only = told, None
    for round_, _ in enumerate(shares(question.budget)):
        task = _summarise(model, question, round_, only)
        found = {
            row[objects.TASK]: pickle.loads(bytes(row["summary"]))  # noqa: S301 - our own tasks
            for row in left.groupBy(objects.TASK)
            .applyInArrow(task, from_arrow_schema(_SUMMARY))
            .collect()
        }
        summary = reduce(merge, found.values(), summary)
        only = summary.open_objects
        if not only.size:
            break
        tasks = [number for number, mine in found.items() if mine.open_objects.size]
        left = told.where(F.col(objects.TASK).isin(tasks))
    return summary


def _summarise(
    model: str, question: Question, round_: int, only: Ints64 | None
) -> Callable[[tuple[pa.Scalar, ...], pa.Table], pa.Table]:
    """For applyInArrow, of the rows of one task."""

    def summarised(task: tuple[pa.Scalar, ...], group: pa.Table) -> pa.Table:
        columns = columns_of(group)
        found = summarise(columns, model, question, round_=round_, only=only)
        return pa.table([[task[0].as_py()], [pickle.dumps(found)]], schema=_SUMMARY)

    return summarised


def columns_of(group: pa.Table) -> Columns:
    """Of rows in the schema of objects.py."""
    part = group[objects.PART]

    def of(name: str) -> pa.Table:
        return group.filter(pa.compute.equal(part, name))

    operations = of(objects.OPERATIONS).sort_by("row")
    elements = of(objects.ELEMENTS).select(ELEMENT_COLUMNS)
    history = history_of(operations.select(OPERATION_COLUMNS), elements, is_torn=False)
    columns = Columns(history)
    # Halves are those of the whole history. Without the rows between them, an invocation that
    # nothing answered could be taken for the beginning of another operation of its process.
    columns.partner = _partners(operations)
    return columns


def _partners(operations: pa.Table) -> Ints32:
    """The place of each row's other half among these rows, -1 if it has none."""
    row = operations["row"].to_numpy()
    partner = operations[objects.PARTNER].fill_null(-1).to_numpy()
    return np.where(partner < 0, -1, np.searchsorted(row, partner)).astype(np.int32)
