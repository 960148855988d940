"""The lake's verdicts are the local engine's: validity, types, operations, witnesses."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bench.checker_histories import log_history as log_history_of_bench
from checkers.columns import OK
from checkers.models import Question, judge
from checkers.verdict import Validity, Verdict
from harness.history import kinds
from harness.history.history import PARQUET, History
from harness.history.jsonl import write_jsonl
from pipeline.check.cut.job import CutHistory
from pipeline.check.cut.stretches import CutSettings
from pipeline.check.job import judge_runs
from pipeline.check.judge_run import Asked, judge_run, judge_stored
from pipeline.ingest import ingest
from pipeline.lake import Lake
from pipeline.reading.listing import named
from tests.pipeline.made_store import stored_run
from tests.property.log_histories import log_history
from tests.property.orderly_histories import orderly_history
from tests.unit.checkers import test_models
from tests.unit.checkers.guilty import GUILTY, INNOCENT
from tests.unit.checkers.stories import told

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1800)]

Found = tuple[str, list[tuple[Any, ...]]]


def generated(count: int) -> Iterable[History]:
    for seed in range(count):
        make = log_history if seed % 2 else orderly_history
        yield History.of(make(Random(seed)))


def stored(histories: Iterable[History], directory: Path) -> dict[str, History]:
    """The histories by path, as JSON Lines gives them back."""
    directory.mkdir()
    found = {}
    for number, history in enumerate(histories):
        path = directory / f"{number:05}.jsonl"
        write_jsonl(history, path)
        found[str(path)] = History.load(path)
    return found


def local(verdict: Verdict) -> Found:
    anomalies = [
        (each.type, each.promise.value, list(each.ops), each.because, each.row or None,
         json.dumps(each.witness, sort_keys=True))
        for each in verdict.found
    ]  # fmt: skip
    return verdict.validity.value, sorted(anomalies)


def in_lake(lake: Lake) -> dict[str, Found]:
    """By source."""
    lake.refresh()
    runs = {row["run"]: row for row in lake.table("runs").collect()}
    anomalies: dict[str, list[tuple[Any, ...]]] = {run: [] for run in runs}
    for row in lake.table("anomalies").collect():
        anomalies[row["run"]].append(
            (row["type"], row["promise"], row["ops"], row["because"], row["condition"],
             row["witness"])
        )  # fmt: skip
    return {row["source"]: (row["verdict"], sorted(anomalies[run])) for run, row in runs.items()}


def differences(lake: Lake, histories: Mapping[str, History], model: str) -> list[str]:
    found = in_lake(lake)
    return [
        f"{path}: {found.get(path)} is not {wanted}"
        for path, history in histories.items()
        if found.get(path) != (wanted := local(judge(history, model, Question())))
        and (len(history) or path in found)
    ]


def test_thirty_histories_have_the_verdicts_of_the_local_engine(lake: Lake, tmp_path: Path) -> None:
    histories = stored(generated(30), tmp_path / "histories")
    ingest(lake, named([tmp_path / "histories"]), model="kafka")
    checked = judge_runs(lake)
    assert {"valid", "invalid"} <= set(checked.verdicts.values())
    assert differences(lake, histories, "kafka") == []


@pytest.mark.slow
@pytest.mark.sweep
def test_two_thousand_histories_are_judged_in_one_job(lake: Lake, tmp_path: Path) -> None:
    """And every history of the checkers' own tests, by its model."""
    histories = stored(generated(2_000), tmp_path / "histories")
    stories = [told(*story) for story in (*GUILTY.values(), *INNOCENT.values())]
    histories |= stored(stories, tmp_path / "stories")
    ingest(lake, named([tmp_path / "histories", tmp_path / "stories"]), model="kafka")
    of_models = {
        model: stored([told(*story)], tmp_path / model)
        for model, (story, _) in test_models.GUILTY.items()
    }
    for model in of_models:
        ingest(Lake(lake.spark, lake.root), named([tmp_path / model]), model=model)
    lake.refresh()
    judge_runs(lake)
    assert differences(lake, histories, "kafka") == []
    for model, mine in of_models.items():
        assert differences(lake, mine, model) == []


@pytest.mark.slow
@pytest.mark.parametrize("width", [512, 1 << 18])
def test_a_long_history_is_judged_in_parts(lake: Lake, tmp_path: Path, width: int) -> None:
    """With an anomaly of each kind at its end; ranges of offsets are small or hold a whole log."""
    tables = log_history_of_bench(30_000, planted=True)
    History(tables).write_parquet(tmp_path / "long" / PARQUET)
    ingest(lake, named([tmp_path / "long"]), model="kafka")
    checked = judge_runs(lake, whole_max=1_000, width=width)
    assert checked.uncut == {}
    (found,) = in_lake(lake).values()
    assert found == local(judge(History(tables), "kafka", Question()))


@pytest.mark.slow
def test_stored_runs_have_the_verdict_of_analyze(lake: Lake, tmp_path: Path) -> None:
    """Doubts included; and one that cannot be judged does not end the others."""
    runs = [stored_run(tmp_path / "store", number) for number in range(2)]
    plan = json.loads((runs[1] / "plan.json").read_text())
    (runs[1] / "plan.json").write_text(json.dumps({**plan, "workload": "of a plugin"}))
    ingest(lake, named([tmp_path / "store"]), model="kafka")
    judge_runs(lake)
    lake.refresh()
    verdicts = {row["source"]: row["verdict"] for row in lake.table("runs").collect()}
    wanted = judge_stored(runs[0])
    assert verdicts == {str(runs[0]): wanted.validity.value, str(runs[1]): "unknown"}
    doubts = lake.table("doubts").where("sentence is not null").collect()
    assert len(doubts) >= len(wanted.doubts) > 0
    whys = [row["why"] for row in lake.table("checks").where("checker = 'history'").collect()]
    assert len(whys) == 1
    assert "of a plugin" in whys[0]


def test_a_history_with_rows_set_aside_is_at_most_unknown() -> None:
    history = told(*INNOCENT["unseen"])
    whole = judge_run(Asked("r", "kafka", None, None, False), history)
    part = judge_run(Asked("r", "kafka", None, None, False, set_aside=2), history)
    assert (whole.validity, part.validity) == (Validity.VALID, Validity.UNKNOWN)
    assert part.verdicts[-1].why.startswith("2 rows of the history")
    guilty = told(*GUILTY["lost-write"])
    assert judge_run(Asked("r", "kafka", None, None, False, set_aside=2), guilty).validity is (
        Validity.INVALID
    )


@pytest.mark.slow
def test_values_that_are_sent_twice_are_found_in_elements_of_any_order(
    lake: Lake, tmp_path: Path
) -> None:
    """Batches of eight shuffled elements: the values of each overlap with those of all others."""
    from pyspark.sql import functions as F  # noqa: N812

    History(log_history_of_bench(30_000)).write_parquet(tmp_path / "long" / PARQUET)
    ingest(lake, named([tmp_path / "long"]), model="kafka")
    lake.refresh()
    elements = lake.table("elements")
    is_sent = F.col("kind").isin(kinds.SEND, kinds.SENT) & (F.col("outcome") == OK)
    (again,) = elements.where(is_sent).orderBy(F.desc("number")).limit(1).collect()
    copy = elements.where(F.col("number") == again["number"]).withColumn("number", F.lit(-1))
    shuffled = elements.unionByName(copy).orderBy(F.xxhash64("number"))
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = lake.spark.conf.get(name)
    lake.spark.conf.set(name, "8")
    try:
        cut = CutHistory(shuffled, lake.table("operations"), CutSettings())
        assert cut._sent_twice().tolist() == [again["value"]]
        cut.forget()
    finally:
        lake.spark.conf.set(name, str(before))
