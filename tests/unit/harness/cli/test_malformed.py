"""harness check: what has nothing of the model is unknown, what is malformed is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.harness.cli.test_check import asked

Row = tuple[int, str, str, Any]

LISTS: tuple[Row, ...] = (
    (0, "invoke", "txn", [["append", "x", 1]]),
    (0, "ok", "txn", [["append", "x", 1]]),
    (1, "invoke", "txn", [["r", "x", None]]),
    (1, "ok", "txn", [["r", "x", [1]]]),
)
LOCKS: tuple[Row, ...] = (
    (0, "invoke", "acquire", None),
    (0, "ok", "acquire", None),
    (1, "invoke", "release", None),
    (1, "ok", "release", None),
)


def written(path: Path, rows: tuple[Row, ...]) -> str:
    told = [
        {"index": at, "time": at, "process": process, "type": type_, "f": f, "value": value}
        for at, (process, type_, f, value) in enumerate(rows)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in told))
    return str(path)


@pytest.mark.parametrize(
    ("rows", "model", "code"),
    [
        (LISTS, "list-append", 0),
        (LISTS, "kafka", 2),
        (LOCKS, "mutex", 0),
        (LOCKS, "list-append", 2),
        (LOCKS, "rw-register", 2),
    ],
)
def test_a_history_of_another_model_proves_nothing(
    rows: tuple[Row, ...], model: str, code: int, tmp_path: Path
) -> None:
    assert asked(written(tmp_path / "h.jsonl", rows), "--model", model)[0] == code


@pytest.mark.parametrize("is_completed", [False, True])
def test_a_process_that_invokes_while_it_has_one_under_way_is_refused(
    is_completed: bool, tmp_path: Path
) -> None:
    rows: tuple[Row, ...] = (
        (0, "invoke", "send", [["send", "x", 1]]),
        (0, "invoke", "send", [["send", "x", 2]]),
    )
    if is_completed:
        rows += ((0, "ok", "send", [["send", "x", [0, 2]]]),)
    code, said = asked(written(tmp_path / "h.jsonl", rows), "--model", "kafka")
    assert code == -1
    assert "h.jsonl, line 2: expected process 0 to complete operation 0 before it invokes" in said


def test_an_operation_that_never_ends_is_the_last_of_its_process(tmp_path: Path) -> None:
    rows: tuple[Row, ...] = (
        (0, "invoke", "write", 1),
        (1, "invoke", "read", None),
        (1, "ok", "read", 1),
    )
    assert asked(written(tmp_path / "h.jsonl", rows), "--model", "register")[0] == 0


def test_transactions_that_all_end_may_overlap_within_a_process(tmp_path: Path) -> None:
    """Elle judges such a history by what its transactions say they did."""
    rows: tuple[Row, ...] = (
        (0, "invoke", "txn", [["r", "x", None], ["r", "y", None]]),
        (0, "invoke", "txn", [["w", "y", 1], ["w", "x", 2]]),
        (0, "ok", "txn", [["w", "y", 1], ["w", "x", 2]]),
        (0, "ok", "txn", [["r", "x", None], ["r", "y", 1]]),
    )
    serializable = ("--model", "rw-register", "--consistency-model", "serializable")
    code, said = asked(written(tmp_path / "h.jsonl", rows), *serializable)
    assert code == 1
    assert "G-single-item" in said
    assert asked(written(tmp_path / "h.jsonl", rows[:3]), *serializable)[0] == -1
