"""What the comparison with Porcupine is fed, and what it says where it cannot be made."""

from __future__ import annotations

import pytest

from bench import porcupine
from harness.history.op import Op

ROWS = [
    Op(0, 0, 3, "invoke", "write", 4),
    Op(1, 0, 4, "invoke", "cas", [4, 2]),
    Op(2, 0, 3, "ok", "write", 4),
    Op(3, 0, 4, "fail", "cas", [4, 2]),
    Op(4, 0, 3, "invoke", "read"),
    Op(5, 0, 4, "invoke", "write", 1),
    Op(6, 0, 3, "ok", "read", 4),
    Op(7, 0, 4, "info", "write", 1),
    Op(8, 0, 5, "invoke", "read"),
    Op(9, 0, 5, "ok", "read", None),
]


def test_a_history_is_told_in_numbers() -> None:
    assert list(porcupine._lines(ROWS)) == [
        "3 0 2 1 4 -1 1",
        "4 1 3 2 4 2 0",
        "3 4 6 0 -1 -1 4",
        "4 5 25 1 1 -1 -2",
        "5 8 9 0 -1 -1 -1",
    ]


def test_without_go_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert porcupine.compared(ROWS, 1.0).endswith("not compared: there is no go here")
