"""A suite under GitHub Actions: what is annotated, and what its step's summary holds."""

from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from checkers.verdict import Anomaly, Validity, Verdict
from harness.cli.suite import suite
from harness.errors import EnvironmentFailure
from harness.run.outcome import Outcome
from harness.run.plan import Plan

MODULE = import_module("harness.cli.suite")
"""The package has the command itself by that name."""
FINE = Verdict(checker="duplicate", validity=Validity.VALID)
GUILTY = Verdict(
    checker="lost-write",
    validity=Validity.INVALID,
    found=(Anomaly(type="lost-write", ops=(1,), because="7 is gone"),),
)
UNSURE = Verdict(checker="linear", validity=Validity.UNKNOWN, why="gave up")


def played(plan: Plan, store_root: Path, **_: Any) -> Outcome:
    if plan.nemesis == "pause":
        failure = EnvironmentFailure("no such host")
        failure.add_note("run it again with: harness test")
        raise failure
    verdict = {"kill": GUILTY, "move": UNSURE}.get(plan.nemesis, FINE)
    return Outcome(directory=store_root / "x", command="harness test", verdicts=(verdict,))


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(MODULE, "carry_out", played)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    words = ["--workloads", "queue", "--nemeses", "none kill move pause"]
    result = CliRunner().invoke(suite, [*words, "--on", "sim", "--store", str(tmp_path)])
    assert result.exception is None, result.output
    return result.output


def test_each_run_that_is_not_fine_is_annotated_by_its_name(said: str) -> None:
    times = "\N{MULTIPLICATION SIGN}"
    assert [line for line in said.splitlines() if line.startswith("::")] == [
        f"::error title=queue {times} kill%3A lost-write::7 is gone",
        f"::warning title=queue {times} move%3A unknown::unknown: linear: gave up",
        f"::error title=queue {times} pause%3A no end::no such host%0A"
        "run it again with: harness test",
    ]


def test_the_summary_of_the_step_tells_every_run(said: str, tmp_path: Path) -> None:
    summary = (tmp_path / "summary.md").read_text()
    assert [line for line in summary.splitlines() if line in ("✅", "❌", "❔")] == [
        "✅", "❌", "❔", "❌",
    ]  # fmt: skip
    assert "lost-write: 7 is gone" in summary
    assert "no such host" in summary


def test_elsewhere_nothing_is_annotated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "carry_out", played)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    words = ["--workloads", "queue", "--nemeses", "kill", "--on", "sim", "--store", str(tmp_path)]
    assert "::" not in CliRunner().invoke(suite, words).output


def test_a_pair_that_cannot_strike_is_left_out_and_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MODULE, "carry_out", played)
    words = ["--workloads", "queue,register", "--on", "sim", "--store", str(tmp_path), "--nemeses"]
    said = CliRunner().invoke(suite, [*words, "compact none"]).output
    times = "\N{MULTIPLICATION SIGN}"
    assert said.startswith(
        f"left out: queue {times} compact: --nemesis compact cannot strike in this run"
    )
    assert said.count("valid: ") == 3
    with pytest.raises(click.UsageError, match="unknown node n9"):
        suite.main([*words, "kill@n9 none"], standalone_mode=False)
