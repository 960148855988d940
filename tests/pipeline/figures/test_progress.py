"""The bar and the words around a job, without Spark."""

from __future__ import annotations

import io
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from harness.cli.rows import aligned
from pipeline.progress import Tasks, bar, progress, tasks_of
from pipeline.sql import reason


class Tracker:
    """Two jobs under way; of the second one a stage was not planned yet."""

    def __init__(self) -> None:
        self.looked = threading.Event()

    def getActiveJobsIds(self) -> list[int]:  # noqa: N802
        return [4, 5, 6]

    def getJobInfo(self, job: int) -> Any:  # noqa: N802
        self.looked.set()
        return {4: SimpleNamespace(stageIds=[7]), 5: SimpleNamespace(stageIds=[8, 9])}.get(job)

    def getStageInfo(self, stage: int) -> Any:  # noqa: N802
        known = {7: (2, 8), 8: (3, 4)}
        if stage not in known:
            return None
        done, all_ = known[stage]
        return SimpleNamespace(numCompletedTasks=done, numTasks=all_)


def test_tasks_of_all_jobs_under_way_are_added_up() -> None:
    assert tasks_of(Tracker()) == Tasks(5, 12)


def test_the_bar_says_the_step_and_the_tasks_and_is_gone_at_the_end() -> None:
    out = io.StringIO()
    tracker = Tracker()
    console = Console(file=out, force_terminal=True, width=100, no_color=True)
    with bar(tracker, console) as say:
        say("latency")
        assert tracker.looked.wait(20)
    assert "latency" in out.getvalue()
    assert not [each for each in threading.enumerate() if each.name == "progress of Spark"]


def test_a_tracker_that_fails_fails_nothing() -> None:
    class Gone(Tracker):
        def getJobInfo(self, job: int) -> Any:  # noqa: N802
            self.looked.set()
            raise ConnectionError("the gateway is gone")

    gone = Gone()
    with bar(gone, Console(file=io.StringIO(), force_terminal=True)) as say:
        assert gone.looked.wait(20)
        say("still here")


def test_nothing_is_shown_off_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    nothing: Any = None
    with progress(nothing) as say:
        say("latency")
    assert capsys.readouterr() == ("", "")


def test_sparks_reason_is_one_sentence_without_its_codes() -> None:
    said = (
        "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column with name `x` cannot be resolved. Did you "
        "mean one of the following? [`run`]. SQLSTATE: 42703; line 1 pos 7;\n'Project ['x]\n"
    )
    assert reason(RuntimeError(said)) == (
        "A column with name `x` cannot be resolved. Did you mean one of the following? [`run`]"
    )


def test_rows_stand_in_columns_and_numbers_at_the_right() -> None:
    lines = list(aligned(("run", "n", "share"), [("a", 1, 0.5), ("bcd", 12345, None)]))
    assert lines == ["run       n  share", "a         1    0.5", "bcd  12,345      -"]
    assert list(aligned(("run",), [])) == ["run"]
