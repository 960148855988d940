"""The Spark job that judges runs of the lake, each by the checkers' own functions.

A run that one task can hold is judged whole, in one task: its rows come together by `run`, whatever
files they are in. Many small runs are many groups of one job. A longer one is judged in parts, if
its model has a way (in_parts.py), or whole if it has something that parts cannot decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Final

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from checkers.verdict import Validity, Verdict
from harness.errors import EnvironmentFailure
from harness.history.errors import HistoryError
from pipeline.check import rows
from pipeline.check.cut.job import Uncut
from pipeline.check.histories import ELEMENT_COLUMNS, OPERATION_COLUMNS, history_of
from pipeline.check.in_parts import IN_PARTS, LOGS, PartSizes, Stores, model_of
from pipeline.check.judge_run import Asked, JudgedRun, judge_run
from pipeline.lake import Lake
from pipeline.schema import TABLES
from pipeline.verdict_rows import JUDGED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WHOLE_MAX: Final = 1_000_000
"""Elements of a run that is judged whole: a task then takes seconds, and less than a gigabyte."""
_OPERATIONS, _ELEMENTS, _ASKED = "operations", "elements", "asked"
_ASKED_COLUMNS: Final = ("model", "plan", "results", "torn", "set_aside")


@dataclass(slots=True)
class Checked:
    """What became of the runs of one job."""

    verdicts: dict[str, str] = field(default_factory=dict)
    """By run: valid, invalid or unknown."""
    uncut: dict[str, str] = field(default_factory=dict)
    """Long runs that one task judged, and why."""


def judge_runs(
    lake: Lake,
    runs: Sequence[str] | None = None,
    *,
    whole_max: int = WHOLE_MAX,
    width: int = PartSizes(WHOLE_MAX).width,
    say: Callable[[str], None] = lambda _: None,
) -> Checked:
    """Judge these runs, or all. Their rows in the lake are replaced."""
    from pyspark import StorageLevel
    from pyspark.sql import functions as F  # noqa: N812

    chosen = lake.table("runs")
    if runs is not None:
        chosen = chosen.where(F.col("run").isin(list(runs)))
    checked = Checked()
    model = F.when(F.col("plan").isNull(), F.col("model"))
    is_long = (F.col("elements") > whole_max) & F.coalesce(model, F.lit(LOGS)).isin(*IN_PARTS)
    cuts: list[Stores] = []
    parts: list[DataFrame] = []
    whole = chosen.where(~is_long)
    for row in chosen.where(is_long).toLocalIterator():
        asked = Asked.of_row(row.asDict())
        say(f"judging {asked.run} in parts")
        operations, elements = (
            lake.table(name).where(F.col("run") == asked.run) for name in (_OPERATIONS, _ELEMENTS)
        )
        sizes = PartSizes(whole_max, width)
        history, judged = IN_PARTS[model_of(asked)](asked, operations, elements, sizes)
        if history is not None:
            cuts.append(history)
        if isinstance(judged, Uncut):
            checked.uncut[asked.run] = judged.why
            whole = whole.unionByName(chosen.where(F.col("run") == asked.run))
        else:
            parts.append(judged)
    say("judging runs as wholes")
    parts.append(judged_whole(lake, whole))
    together = reduce(lambda one, other: one.unionByName(other), parts)
    together = together.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        found = together.where(F.col(rows.TABLE) == "runs").select("run", rows.VERDICT)
        checked.verdicts = {row["run"]: row[rows.VERDICT] for row in found.collect()}
        if checked.verdicts:
            say("writing verdicts")
            _replace(lake, chosen, together)
    finally:
        together.unpersist()
        for each in cuts:
            each.forget()
    return checked


def judged_whole(lake: Lake, chosen: DataFrame) -> DataFrame:
    """Rows in the schema of rows.py, for each of the chosen rows of `runs`."""
    from pyspark.sql.pandas.types import from_arrow_schema

    whole = _rows_of_runs(lake, chosen)
    return whole.groupBy("run").applyInArrow(judge_group, from_arrow_schema(rows.SCHEMA))


def judge_group(key: tuple[pa.Scalar, ...], group: pa.Table) -> pa.Table:
    """All that the lake has of one run."""
    part = group["part"]

    def of(name: str) -> pa.Table:
        return group.filter(pa.compute.equal(part, name))

    asked = Asked.of_row(of(_ASKED).to_pylist()[0])
    try:
        history = history_of(
            of(_OPERATIONS).select(OPERATION_COLUMNS),
            of(_ELEMENTS).select(ELEMENT_COLUMNS),
            is_torn=asked.is_torn,
        )
        judged = judge_run(asked, history)
    except (HistoryError, EnvironmentFailure) as error:
        # One run that cannot be judged, say for want of its plugin, must not end the others.
        why = Verdict(checker="history", validity=Validity.UNKNOWN, why=str(error))
        judged = JudgedRun(Validity.UNKNOWN, (why,))
    return rows.rows_of(asked.run, judged)


def _rows_of_runs(lake: Lake, chosen: DataFrame) -> DataFrame:
    """Rows of three tables for the chosen runs, in one schema, so that they can be grouped."""
    from pyspark.sql import functions as F  # noqa: N812

    names = chosen.select("run")
    parts = {
        _ASKED: chosen.select("run", *_ASKED_COLUMNS),
        _OPERATIONS: lake.table("operations").select("run", *OPERATION_COLUMNS),
        _ELEMENTS: lake.table("elements").select("run", *ELEMENT_COLUMNS),
    }
    tagged = (
        frame.join(F.broadcast(names), "run", "left_semi").withColumn("part", F.lit(name))
        for name, frame in parts.items()
    )
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), tagged)


def _replace(lake: Lake, chosen: DataFrame, judged: DataFrame) -> None:
    """The judgement instead of the older one, in one commit."""
    from pyspark.sql import functions as F  # noqa: N812

    batch = lake.new_batch()
    dates = chosen.select("run", "date", F.col("batch").alias("of"))
    dated = judged.join(F.broadcast(dates), "run")
    for name in JUDGED:
        mine = dated.where(F.col(rows.TABLE) == name)
        lake.write(name, mine.select(*TABLES[name].schema.names, "date"), batch)
    verdicts = judged.where(F.col(rows.TABLE) == "runs").select("run", rows.VERDICT)
    again = chosen.drop("verdict").join(F.broadcast(verdicts), "run")
    lake.write("runs", again.withColumnRenamed(rows.VERDICT, "verdict"), batch)
    lake.commit("check", adds=[batch], hides=list(_hidden(lake, chosen)))


def _hidden(lake: Lake, chosen: DataFrame) -> Iterator[tuple[str, str, str]]:
    """The rows of these runs that were there before."""
    from pyspark.sql import functions as F  # noqa: N812

    names = F.broadcast(chosen.select("run"))
    for name in ("runs", *JUDGED):
        old = lake.table(name).join(names, "run", "left_semi").select("batch", "run").distinct()
        for row in old.toLocalIterator():
            yield name, row["batch"], row["run"]
