"""harness check of the Arrow chunks of a run: as they were recorded, and torn."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import rmtree
from typing import Any

from harness.history.history import finish
from harness.history.op import OpType
from harness.history.recorder import Recorder
from tests.unit.harness.cli.test_check import asked

Row = tuple[int, OpType, str, Any]

ENDS: tuple[Row, ...] = (
    (0, "invoke", "send", [["send", "x", 1]]),
    (0, "ok", "send", [["send", "x", [0, 1]]]),
    (1, "invoke", "end-offsets", ["x"]),
    (1, "ok", "end-offsets", {"low": {"x": 0}, "high": {"x": 1}, "stable": {"x": 1}}),
    (2, "invoke", "end-offsets", ["x"]),
    (2, "fail", "end-offsets", ["x"]),
    (1, "invoke", "poll", [["poll"]]),
    (1, "ok", "poll", [["poll", {"x": [[0, 1]]}]]),
    (2, "invoke", "end-offsets", ["x"]),
)


def recorded(run: Path, *rows: Row) -> None:
    """Each row in a chunk of its own."""
    with Recorder(run / "history") as recorder:
        for at, (process, type_, f, value) in enumerate(rows):
            recorder.record(at, process, type_, f, value)
            recorder.flush()


def test_chunks_are_judged_as_their_parquet_is(tmp_path: Path) -> None:
    recorded(tmp_path, *ENDS)
    finish(tmp_path / "history")
    options = ("--model", "kafka", "--json")
    code, output = asked(str(tmp_path), *options)
    assert code == 0
    rmtree(tmp_path / "history.parquet")
    for path in (tmp_path, tmp_path / "history"):
        assert asked(str(path), *options) == (code, output)
    assert json.loads(output)["valid"] is True
