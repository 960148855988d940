"""The page is written at the end of a run, and never costs its verdict."""

from pathlib import Path

import pytest

from harness.history.history import History
from harness.run.judging import judge
from harness.run.plan import Plan
from tests.unit.reports.stored_runs import Rows


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
    def broken(directory: Path) -> Path:
        raise RuntimeError("no paper")

    monkeypatch.setattr("reports.html.write_report", broken)
    outcome = judge(stored_history(tmp_path), Plan(), [], {})
    assert (tmp_path / "summary.txt").read_text().startswith(outcome.sentence())
    assert "no paper" in caplog.text
