"""Histories told in a few words: each line is an operation, invoked and completed."""

from __future__ import annotations

from typing import Any

from harness.history.history import History
from harness.history.op import Op, OpType


def told(*operations: tuple[int, OpType, str, Any]) -> History:
    """One after the other: (process, outcome, f, value). Invocations know nothing but their f."""
    rows: list[Op] = []
    for process, outcome, f, value in operations:
        rows.append(Op(len(rows), len(rows), process, "invoke", f))
        rows.append(Op(len(rows), len(rows), process, outcome, f, value))
    return History.of(rows)


def sent(process: int, key: str, *pairs: tuple[int | None, Any], outcome: OpType = "ok") -> Any:
    return process, outcome, "send", [["send", key, list(pair)] for pair in pairs]


def polled(process: int, key: str, *pairs: tuple[int | None, Any], outcome: OpType = "ok") -> Any:
    return process, outcome, "poll", [["poll", {key: [list(pair) for pair in pairs]}]]


def assigned(process: int, value: Any, outcome: OpType = "ok") -> Any:
    return process, outcome, "assign", value
