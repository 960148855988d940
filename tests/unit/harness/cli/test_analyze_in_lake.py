"""`harness analyze` in the lake: when it goes there, and that runs that were not judged count."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.analyze import analyze
from pipeline.check.job import Checked
from pipeline.ingest import Ingested
from tests.pipeline.made_store import stored_run

# The package has the command under this name, and not the module.
MODULE = import_module("harness.cli.analyze")
UNREADABLE = Path("store/queue/1")
TAKEN = Ingested(taken=["queue/2#aa"])
REFUSED = Ingested(taken=["queue/2#aa"], refused={str(UNREADABLE): "it has no history"})
UNDER_WAY = Ingested(taken=["queue/2#aa"], under_way=[UNREADABLE])


@contextmanager
def no_lake(*_: object, **__: object) -> Iterator[tuple[None, None]]:
    yield None, None


@pytest.mark.parametrize(
    ("taken", "verdict", "code"),
    [
        (TAKEN, "valid", 0),
        (REFUSED, "valid", 2),
        (UNDER_WAY, "valid", 2),
        (REFUSED, "invalid", 1),
    ],
)
def test_a_run_that_was_not_judged_leaves_the_verdict_unknown(
    monkeypatch: pytest.MonkeyPatch, taken: Ingested, verdict: str, code: int
) -> None:
    monkeypatch.setattr(MODULE, "open_lake", no_lake)
    monkeypatch.setattr(MODULE, "require_spark_here", lambda: None)
    monkeypatch.setattr(MODULE, "_directories", lambda *_: [UNREADABLE, Path("2")])
    monkeypatch.setattr("pipeline.ingest.ingest", lambda *_, **__: taken)
    checked = Checked(verdicts={"queue/2#aa": verdict})
    monkeypatch.setattr("pipeline.check.job.judge_runs", lambda *_, **__: checked)
    done = CliRunner().invoke(analyze, ["--all", "--engine", "spark"], standalone_mode=False)
    assert (done.return_value, str(UNREADABLE) in done.output) == (code, taken is not TAKEN)


@pytest.mark.parametrize(("available", "engine"), [(0, "spark"), (1 << 40, "local")])
def test_one_run_goes_to_spark_only_if_memory_is_short(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, available: int, engine: str
) -> None:
    run = stored_run(tmp_path)
    monkeypatch.setattr(MODULE, "_directories", lambda *_: [run])
    monkeypatch.setattr(MODULE, "_available_bytes", lambda: available)
    asked: list[str] = []
    monkeypatch.setattr(MODULE, "_in_place", lambda *_: asked.append("local"))
    monkeypatch.setattr(MODULE, "_in_lake", lambda *_: asked.append("spark"))
    CliRunner().invoke(analyze, [str(run)], standalone_mode=False, catch_exceptions=False)
    assert asked == [engine]
