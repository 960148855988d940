"""Histories on disk are judged as those in memory are; kernels as their plain twins."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from checkers.models import LEAN, Question, judge
from checkers.stored import StoredHistory
from harness.history.history import History
from harness.history.op import Op
from tests.property.log_histories import log_history
from tests.unit.checkers.stories import told
from tests.unit.checkers.test_models import GUILTY, INNOCENT

ROOT = Path(__file__).parents[3]
SEARCHED = ("cas-register", "mutex")


@pytest.mark.parametrize("model", LEAN)
@pytest.mark.parametrize("stories", [{name: GUILTY[name][0] for name in LEAN}, INNOCENT])
def test_what_is_on_disk_gets_the_same_verdict(
    tmp_path: Path, model: str, stories: dict[str, tuple[object, ...]]
) -> None:
    history = told(*stories[model])
    history.write_parquet(tmp_path / "history.parquet")
    stored = StoredHistory.at(tmp_path)
    assert stored is not None
    assert judge(stored, model, Question()).as_json() == judge(history, model, Question()).as_json()


@pytest.mark.parametrize("seed", range(20))
def test_invocations_that_nobody_answered_are_read_from_disk_too(tmp_path: Path, seed: int) -> None:
    from random import Random

    history = History.of(log_history(Random(seed), bend=0.2, most=20))
    history.write_parquet(tmp_path)
    stored = StoredHistory.at(tmp_path)
    assert stored is not None
    assert (
        judge(stored, "kafka", Question()).as_json()
        == judge(history, "kafka", Question()).as_json()
    )


def test_where_there_is_no_parquet_there_is_nothing_stored(tmp_path: Path) -> None:
    assert StoredHistory.at(tmp_path) is None


def all_verdicts() -> str:
    """Of kernels of every family, as text."""
    models = (*LEAN, *SEARCHED)
    verdicts = [
        judge(told(*operations), model, Question()).as_json()
        for model in models
        for operations in (GUILTY[model][0], INNOCENT[model])
    ]
    unanswered = History.of([Op(0, 0, 0, "invoke", "send", [["send", "x", 1]])])
    verdicts.append(judge(unanswered, "kafka", Question()).as_json())
    return json.dumps(verdicts, sort_keys=True)


def test_a_kernel_and_its_plain_twin_say_the_same() -> None:
    script = "from tests.unit.checkers.test_stored import all_verdicts; print(all_verdicts())"
    shown = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert shown.stdout.strip() == all_verdicts()
