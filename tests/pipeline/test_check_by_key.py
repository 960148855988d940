"""Long histories of many objects are judged by key, and have the verdict of the local engine."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from bench.checker_histories import register_history
from checkers.linear.keyed import KEYED
from checkers.models import Question, judge
from checkers.verdict import Verdict
from harness.history.history import PARQUET, History
from harness.history.jsonl import write_jsonl
from harness.history.op import Op
from pipeline.check import job
from pipeline.check.job import judge_runs
from pipeline.check.rows import SCHEMA
from pipeline.ingest import ingest
from pipeline.lake import Lake
from pipeline.reading.listing import named
from tests.property.keyed_histories import keyed_history

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1800)]


def local(verdict: Verdict) -> dict[str, Any]:
    """As the tables `checks` and `anomalies` have it."""
    return {
        "verdict": verdict.validity.value,
        "why": verdict.why or None,
        "stats": verdict.stats,
        "anomalies": [
            (each.type, list(each.ops), each.because, each.witness) for each in verdict.found
        ],
    }


def in_lake(lake: Lake) -> dict[str, dict[str, Any]]:
    """By source."""
    lake.refresh()
    runs = {row["run"]: row for row in lake.table("runs").collect()}
    checks = {row["run"]: row for row in lake.table("checks").collect()}
    found: dict[str, list[Any]] = {run: [] for run in runs}
    for row in lake.table("anomalies").orderBy("run", "number").collect():
        told = (row["type"], row["ops"], row["because"], json.loads(row["witness"]))
        found[row["run"]].append(told)
    return {
        row["source"]: {
            "verdict": row["verdict"],
            "why": checks[run]["why"],
            "stats": json.loads(checks[run]["stats"]),
            "anomalies": found[run],
        }
        for run, row in runs.items()
    }


def merged(objects: Mapping[Any, Sequence[Op]], dice: Random) -> list[Op]:
    """The rows of several objects in turn; each has processes of its own."""
    left = [
        [replace(row, process=row.process + 1_000 * number, extra={"key": key}) for row in rows]
        for number, (key, rows) in enumerate(objects.items())
    ]
    for each in left:
        each.reverse()
    rows: list[Op] = []
    while left:
        at = dice.randrange(len(left))
        rows.append(replace(left[at].pop(), index=len(rows), time_ns=len(rows)))
        if not left[at]:
            del left[at]
    return rows


def hard(writes: int, seen: int) -> list[Op]:
    """Writes at the same time, and a read of what they may have left; 2**writes configurations."""
    rows = [Op(at, at, at, "invoke", "write", at) for at in range(writes)]
    rows += [Op(0, 0, at, "ok", "write", at) for at in range(writes)]
    return [*rows, Op(0, 0, writes, "invoke", "read"), Op(0, 0, writes, "ok", "read", seen)]


def easy() -> list[Op]:
    return hard(2, 1)


def halves_that_do_not_belong_together() -> list[Op]:
    """An invocation that nothing answers, and later, of the same process, an end without any."""
    a, b = {"key": "a"}, {"key": "b"}
    rows = [
        Op(0, 0, 0, "invoke", "write", 1, extra=a),
        Op(0, 0, 0, "invoke", "write", 5, extra=b),
        Op(0, 0, 0, "ok", "write", 5, extra=b),
        Op(0, 0, 0, "ok", "write", 2, extra=a),
        Op(0, 0, 1, "invoke", "read", None, extra=a),
        Op(0, 0, 1, "ok", "read", 1, extra=a),
    ]
    return [replace(row, index=at, time_ns=at) for at, row in enumerate(rows)]


def histories() -> dict[str, list[list[Op]]]:
    """By model."""
    found: dict[str, list[list[Op]]] = {
        model: [keyed_history(Random(seed), model, bad=bad, most=9)
                for seed, bad in enumerate((0.0, 0.2, 0.7))]
        for model in KEYED
    }  # fmt: skip
    late = {"x": easy(), "y": hard(13, 99), "z": hard(5, 2), "": easy(), 1: hard(12, 99)}
    found["register"] += [merged(late, Random(1)), halves_that_do_not_belong_together()]
    # The first operation that breaks the model is the one that is told.
    broken = keyed_history(Random(5), "cas-register")
    extra = {"key": "strange"}
    broken += [
        Op(len(broken), len(broken), 5_000, "ok", "cas", None, extra=extra),
        Op(len(broken) + 1, len(broken) + 1, 5_001, "ok", "cas", [1], extra={"key": "also"}),
    ]
    found["cas-register"].append(broken)
    return found


def refuse_all_but_none(lake: Lake, chosen: DataFrame) -> DataFrame:
    assert chosen.isEmpty(), "a history was judged whole"
    return lake.spark.createDataFrame(SCHEMA.empty_table())


def test_histories_of_every_model_have_the_verdicts_of_the_local_engine(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted: dict[str, dict[str, Any]] = {}
    for model, made in histories().items():
        (tmp_path / model).mkdir()
        for number, rows in enumerate(made):
            path = tmp_path / model / f"{number}.jsonl"
            write_jsonl(History.of(rows), path)
            wanted[str(path)] = local(judge(History.load(path), model, Question()))
        ingest(Lake(lake.spark, lake.root), named([tmp_path / model]), model=model)
    lake.refresh()
    monkeypatch.setattr(job, "judged_whole", refuse_all_but_none)
    judge_runs(lake, whole_max=2)
    assert {each["verdict"] for each in wanted.values()} == {"valid", "invalid", "unknown"}
    assert in_lake(lake) == wanted


def test_two_hundred_thousand_operations_on_two_hundred_objects(lake: Lake, tmp_path: Path) -> None:
    objects = {key: register_history(1_000, 5, seed=key) for key in range(200)}
    last = objects[150]
    objects[150] = [*last, Op(0, 0, 9, "invoke", "read"), Op(0, 0, 9, "ok", "read", 99)]
    history = History.of(merged(objects, Random(7)))
    history.write_parquet(tmp_path / "long" / PARQUET)
    ingest(lake, named([tmp_path / "long"]), model="cas-register")
    judge_runs(lake, whole_max=50_000)
    (found,) = in_lake(lake).values()
    assert found == local(judge(history, "cas-register", Question()))
    assert found["verdict"] == "invalid"
