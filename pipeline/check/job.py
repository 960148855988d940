"""The Spark job that judges runs of the lake, each by the checkers' own functions.

A run that one task can hold is judged whole, in one task: its rows come together by `run`, whatever
files they are in. Many small runs are many groups of one job. A longer one is judged in parts, if
its model has a way to (`IN_PARTS`), or whole if it has something that parts cannot decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Final, Protocol

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from checkers.verdict import Validity, Verdict
from harness.errors import EnvironmentFailure
from harness.history.errors import HistoryError
from pipeline.check import rows
from pipeline.check.cut.job import CutHistory, Uncut
from pipeline.check.cut.judge import judged_smaller
from pipeline.check.cut.told import Way
from pipeline.check.cycles.judge import lists_in_parts
from pipeline.check.histories import ELEMENT_COLUMNS, OPERATION_COLUMNS, history_of
from pipeline.check.judge_run import Asked, JudgedRun, contract_asked, judge_run
from pipeline.lake import Lake
from pipeline.schema import TABLES
from pipeline.session import batches_of_any_size

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


class Forgets(Protocol):
    """A history that is judged in parts, and stores what they have in common."""

    def forget(self) -> None: ...


def judge_runs(
    lake: Lake,
    runs: Sequence[str] | None = None,
    *,
    whole_max: int = WHOLE_MAX,
    width: int = Way().width,
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
    is_long = (F.col("elements") > whole_max) & F.coalesce(model, F.lit("kafka")).isin(*IN_PARTS)
    cuts: list[Forgets] = []
    parts: list[DataFrame] = []
    whole = chosen.where(~is_long)
    for row in chosen.where(is_long).toLocalIterator():
        asked = Asked.of_row(row.asDict())
        say(f"judging {asked.run} in parts")
        history, judged = _judged_in_parts(lake, asked, width)
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

    whole = _told(lake, chosen)
    return whole.groupBy("run").applyInArrow(judge_group, from_arrow_schema(rows.SCHEMA))


def _judged_in_parts(lake: Lake, asked: Asked, width: int) -> tuple[Forgets, DataFrame | Uncut]:
    from pyspark.sql import functions as F  # noqa: N812

    operations = lake.table("operations").where(F.col("run") == asked.run)
    elements = lake.table("elements").where(F.col("run") == asked.run)
    # A run with a plan is of logs, whatever is asked of these.
    model = asked.model if asked.plan is None else None
    return IN_PARTS[model or "kafka"](asked, operations, elements, width)


def _log_in_parts(
    asked: Asked, operations: DataFrame, elements: DataFrame, width: int
) -> tuple[Forgets, DataFrame | Uncut]:
    stamp = contract_asked(asked).timestamp_type
    way = Way(width, stamps=stamp is not None, append_time=stamp == "LogAppendTime")
    with batches_of_any_size(elements.sparkSession):
        history = CutHistory(elements, operations, way)
        smaller = history.smaller()
    if isinstance(smaller, Uncut):
        return history, smaller
    judged, places = judged_smaller(smaller, asked, operations, is_final=False)
    if places is None:
        return history, judged
    with batches_of_any_size(elements.sparkSession):
        again = history.smaller(places)
    if isinstance(again, Uncut):
        return history, again
    return history, judged_smaller(again, asked, operations, is_final=True)[0]


InParts = Callable[["Asked", "DataFrame", "DataFrame", int], tuple[Forgets, "DataFrame | Uncut"]]
"""From a run with its operations and elements to the rows of its verdict, or why that cannot be.
The last argument is how many offsets a range of a log has."""
IN_PARTS: Final[dict[str, InParts]] = {"kafka": _log_in_parts, "list-append": lists_in_parts}
"""By model."""


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


def _told(lake: Lake, chosen: DataFrame) -> DataFrame:
    """What three tables say of the chosen runs, in one schema, so that it can be grouped."""
    from pyspark.sql import functions as F  # noqa: N812

    names = chosen.select("run")
    parts = {
        _ASKED: chosen.select("run", *_ASKED_COLUMNS),
        _OPERATIONS: lake.table("operations").select("run", *OPERATION_COLUMNS),
        _ELEMENTS: lake.table("elements").select("run", *ELEMENT_COLUMNS),
    }
    told: DataFrame | None = None
    for name, frame in parts.items():
        mine = frame.withColumn("part", F.lit(name))
        if name != _ASKED:
            mine = mine.join(F.broadcast(names), "run", "left_semi")
        told = mine if told is None else told.unionByName(mine, allowMissingColumns=True)
    assert told is not None
    return told


def _replace(lake: Lake, chosen: DataFrame, judged: DataFrame) -> None:
    """The judgement instead of the older one, in one commit."""
    from pyspark.sql import functions as F  # noqa: N812

    batch = lake.new_batch()
    dates = chosen.select("run", "date", F.col("batch").alias("of"))
    dated = judged.join(F.broadcast(dates), "run")
    for name in rows.JUDGED:
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
    for name in ("runs", *rows.JUDGED):
        old = lake.table(name).join(names, "run", "left_semi").select("batch", "run").distinct()
        for row in old.toLocalIterator():
            yield name, row["batch"], row["run"]
