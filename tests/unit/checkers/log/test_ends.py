"""Cycles through reads that assert an end."""

from __future__ import annotations

from typing import Any

import pytest

from checkers.contract import Contract
from checkers.models import Question, judge
from harness.history.history import History
from harness.history.op import Op
from tests.unit.checkers.stories import assigned, sent, told


def at_once(*operations: Any) -> History:
    """All are begun before any ends."""
    count = len(operations)
    rows = [Op(at, at, one[0], "invoke", one[2]) for at, one in enumerate(operations)]
    rows += [
        Op(count + at, count + at, process, outcome, f, value)
        for at, (process, outcome, f, value) in enumerate(operations)
    ]
    return History.of(rows)


def txn(process: int, *parts: list[Any]) -> Any:
    return process, "ok", "txn", list(parts)


def cycles(history: History, *, ww_deps: bool = False, exact_polls: bool = False) -> list[str]:
    contract = Contract(ww_deps=ww_deps, exact_polls=exact_polls)
    result = judge(history, "kafka", Question(contract=contract))
    assert "broke" not in result.why
    return sorted({one.type for one in result.found if one.type.startswith("G")})


SKEW = at_once(
    txn(0, ["send", "x", [0, 1]], ["poll", {"y": []}]),
    txn(1, ["send", "y", [0, 2]], ["poll", {"x": []}]),
)
HALF = at_once(
    txn(0, ["send", "x", [0, 1]], ["send", "y", [0, 2]]),
    txn(1, ["poll", {"x": [[0, 1]], "y": []}]),
)
FORK = at_once(
    txn(0, ["send", "x", [0, 1]]),
    txn(1, ["send", "y", [0, 2]]),
    txn(2, ["poll", {"x": [[0, 1]], "y": []}]),
    txn(3, ["poll", {"x": [], "y": [[0, 2]]}]),
)


@pytest.mark.parametrize(
    ("history", "found"),
    [
        (SKEW, ["G2-item"]),
        (HALF, ["G-single-item"]),
        (FORK, ["G-nonadjacent-item"]),
        # After the write was acknowledged, a poll misses it.
        (told(sent(0, "x", (0, 1)), txn(1, ["poll", {"x": []}])), ["G-single-item-realtime"]),
        (at_once(txn(0, ["poll", {"x": []}]), sent(1, "x", (0, 1))), []),
        # It had begun behind.
        (told(sent(0, "x", (0, 1)), assigned(1, {"x": 1}), txn(1, ["poll", {"x": []}])), []),
    ],
)
def test_exact_polls_come_before_what_they_miss(history: History, found: list[str]) -> None:
    assert cycles(history, exact_polls=True) == found
    assert cycles(history) == []


def test_an_end_that_was_told_comes_before_what_is_beyond() -> None:
    history = told(sent(0, "x", (0, 1)), (0, "ok", "end-offsets", {"high": {"x": 0}}))
    assert cycles(history, ww_deps=True) == ["G-single-item-process"]
    seen = told(sent(0, "x", (0, 1)), (0, "ok", "end-offsets", {"high": {"x": 1}}))
    assert cycles(seen, ww_deps=True) == []


def test_an_end_that_was_told_comes_after_what_is_below() -> None:
    early = told((0, "ok", "end-offsets", {"high": {"x": 1}}), sent(1, "x", (0, 1)))
    assert cycles(early, ww_deps=True) == ["G1c-realtime"]


def test_they_are_told_and_allowed() -> None:
    result = judge(SKEW, "kafka", Question(contract=Contract(exact_polls=True)))
    assert "G2-item" in {each.type for each in result.allowed}
