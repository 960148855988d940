"""The page is written at the end of a run, and never costs its verdict."""

import json
from pathlib import Path

import pytest

from harness.history.history import History
from harness.run.judging import judge
from harness.run.plan import Plan
from harness.store.stored_run import read_results
from tests.unit.reports.stored_runs import KEY, Rows


def stored_history(directory: Path) -> Path:
    rows = Rows()
    for number in range(3):
        rows.send(10 * number, 0, number, number)
    History.of(rows.ops).write_parquet(directory / "history.parquet")
    return directory


def test_a_judged_run_has_a_page(tmp_path: Path) -> None:
    outcome = judge(stored_history(tmp_path), Plan(), [], {})
    assert outcome.sentence() in (tmp_path / "report.html").read_text()


def test_a_page_that_fails_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> Path:
        raise RuntimeError("no paper")

    monkeypatch.setattr("reports.html.write_page", broken)
    outcome = judge(stored_history(tmp_path), Plan(), [], {})
    assert (tmp_path / "summary.txt").read_text().startswith(outcome.sentence())
    assert "no paper" in caplog.text


def test_the_causes_of_a_loss_are_stored_and_told_on_the_terminal(tmp_path: Path) -> None:
    """Offsets 0 to 59 are acknowledged by n1, and again by n2, which lacks the first sixty."""
    rows = Rows()
    for number in range(120):
        rows.send(20 * number, number % 3, number, number % 60)
    rows.poll(4000, 9, [[number % 60, number] for number in range(60, 120)])
    History.of(rows.ops).write_parquet(tmp_path / "history.parquet")
    led = {"key": KEY, "replicas": ["n1", "n2"], "isr": ["n1"], "node": "n1"}
    (tmp_path / "cluster.jsonl").write_text(
        json.dumps({"time_ns": 0, **led, "leader": "n1", "epoch": 0}) + "\n"
        + json.dumps({"time_ns": 1_190_000_000, **led, "leader": "n2", "epoch": 1}) + "\n"
    )  # fmt: skip
    outcome = judge(tmp_path, Plan(), [], {})
    stored = read_results(tmp_path).causes
    assert stored == outcome.causes
    (cause,) = [each for each in stored if each["lost"]]
    assert cause["sentence"].startswith(
        f"n1 led {KEY}; n2 was elected at 1.2 s with an empty log: 60 acknowledged records of "
        f"{KEY} at offsets 0 to 59 are gone, found by lost-write"
    )
    assert (cause["lost"], cause["lost_is_all"], cause["elected_ms"]) == (60, True, 1190.0)
    assert f"  {cause['sentence']}" in (tmp_path / "summary.txt").read_text().splitlines()
    assert cause["sentence"] in (tmp_path / "report.html").read_text()
