"""harness check of the Arrow chunks of a run: as they were recorded, and torn."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from click.testing import CliRunner

from harness.cli.check import check
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


READ_BACK: tuple[Row, ...] = (
    *(
        row
        for value in range(8)
        for row in (
            (0, "invoke", "send", [["send", "x", f"v{value}"]]),
            (0, "ok", "send", [["send", "x", [value, f"v{value}"]]]),
        )
    ),
    (1, "invoke", "poll", [["poll"]]),
    (1, "ok", "poll", [["poll", {"x": [[value, f"v{value}"] for value in range(8)]}]]),
)


def judged(path: Path) -> tuple[int, Any, str]:
    """The exit code, what programs get, and the line beside it."""
    result = CliRunner().invoke(
        check, [str(path), "--model", "kafka", "--json"], standalone_mode=False
    )
    assert result.exception is None
    return result.return_value, json.loads(result.stdout), result.stderr


@pytest.mark.parametrize("name", ["ops", "elements", "values", "keys"])
@pytest.mark.parametrize("part", [2 / 3, 0.999, 0])
def test_a_torn_history_accuses_nobody_of_what_was_not_read(
    tmp_path: Path, name: str, part: float
) -> None:
    recorded(tmp_path, *READ_BACK)
    code, told, said = judged(tmp_path)
    assert (code, said) == (0, "")
    assert "torn" not in told["stats"]
    path = tmp_path / "history" / f"{name}.arrow"
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * part)])
    code, told, said = judged(tmp_path)
    assert code == 2
    assert told["anomaly-types"] == []
    assert told["stats"]["torn"] is True
    assert said.startswith("the history is torn: ")
    assert said.count("\n") == 1
    finish(tmp_path / "history")
    assert judged(tmp_path) == (code, told, said)


def test_what_a_torn_history_shows_is_an_anomaly_all_the_same(tmp_path: Path) -> None:
    twice: Row = (1, "ok", "poll", [["poll", {"x": [[0, "v0"], [1, "v0"]]}]])
    recorded(tmp_path, *READ_BACK[:-1], twice)
    path = tmp_path / "history" / "ops.arrow"
    path.write_bytes(path.read_bytes()[:-8])
    code, told, said = judged(tmp_path)
    assert code == 1
    assert "duplicate" in told["anomaly-types"]
    assert "unseen" not in told["anomaly-types"]
    assert said


def test_chunks_without_one_of_their_files_are_refused(tmp_path: Path) -> None:
    recorded(tmp_path, *READ_BACK)
    (tmp_path / "history" / "values.arrow").unlink()
    code, output = asked(str(tmp_path), "--model", "kafka")
    assert code == -1
    assert "values.arrow: it is missing" in output
