"""Queues and stacks of values that are put there once: judged without a search, with a proof."""

from __future__ import annotations

from typing import Any

import pytest

from checkers.models import Question, judge
from checkers.verdict import Validity, Verdict
from harness.history.history import History
from harness.history.op import Op, OpType
from tests.unit.checkers.stories import told

IN = {"fifo-queue": "enqueue", "stack": "push"}
OUT = {"fifo-queue": "dequeue", "stack": "pop"}
BOTH = pytest.mark.parametrize("model", ["fifo-queue", "stack"])


def judged(model: str, *steps: tuple[str, Any] | tuple[str, Any, OpType]) -> Verdict:
    """One after the other; `in` and `out` with a value, and perhaps an outcome."""
    names = {"in": IN[model], "out": OUT[model]}
    lines = [(0, step[2] if len(step) > 2 else "ok", names[step[0]], step[1]) for step in steps]
    # Whoever does not know an outcome does nothing any more.
    return judge(
        told(*((at, outcome, f, value) for at, (_, outcome, f, value) in enumerate(lines))),
        model,
        Question(budget=1),
    )


def overlapping(model: str, rows: list[tuple[int, OpType, str, Any]]) -> Verdict:
    ops = [
        Op(at, at, process, type_, f, value) for at, (process, type_, f, value) in enumerate(rows)
    ]
    return judge(History.of(ops), model, Question(budget=1))


@BOTH
def test_a_value_that_nobody_put_there(model: str) -> None:
    result = judged(model, ("in", 1), ("out", 2))
    assert result.validity is Validity.INVALID
    assert result.found[0].because.endswith("no process had put it there")


@BOTH
def test_a_value_that_comes_out_twice(model: str) -> None:
    result = judged(model, ("in", 1), ("out", 1), ("out", 1))
    assert result.validity is Validity.INVALID
    assert result.found[0].ops == (3, 5)
    assert "minimal" not in result.found[0].witness


@BOTH
def test_a_value_that_comes_out_before_it_came_in(model: str) -> None:
    assert judged(model, ("out", 1), ("in", 1)).validity is Validity.INVALID


@BOTH
def test_nothing_is_found_only_where_nothing_is(model: str) -> None:
    assert judged(model, ("in", 1), ("out", None), ("out", 1)).validity is Validity.INVALID
    assert judged(model, ("in", 1), ("out", 1), ("out", None)).validity is Validity.VALID


@BOTH
def test_nothing_may_be_found_while_something_comes_in(model: str) -> None:
    rows: list[tuple[int, OpType, str, Any]] = [
        (0, "invoke", IN[model], 1),
        (1, "invoke", OUT[model], None),
        (0, "ok", IN[model], 1),
        (1, "ok", OUT[model], None),
    ]
    assert overlapping(model, rows).validity is Validity.VALID


@BOTH
def test_nothing_may_be_found_once_the_last_was_taken(model: str) -> None:
    rows: list[tuple[int, OpType, str, Any]] = [
        (0, "invoke", IN[model], 1),
        (0, "ok", IN[model], 1),
        (1, "invoke", OUT[model], None),
        (0, "invoke", OUT[model], None),
        (0, "ok", OUT[model], 1),
        (1, "ok", OUT[model], None),
    ]
    assert overlapping(model, rows).validity is Validity.VALID


@BOTH
def test_a_put_of_unknown_outcome_may_have_been(model: str) -> None:
    assert judged(model, ("in", 1, "info"), ("out", 1)).validity is Validity.VALID
    assert judged(model, ("in", 1, "info"), ("out", None)).validity is Validity.VALID
    assert judged(model, ("in", 1, "fail"), ("out", 1)).validity is Validity.INVALID


def test_a_queue_gives_the_oldest_first() -> None:
    result = judged("fifo-queue", ("in", 1), ("in", 2), ("out", 2), ("out", 1))
    assert result.validity is Validity.INVALID
    assert result.found[0].ops == (1, 3, 5, 7)
    assert judged("fifo-queue", ("in", 1), ("in", 2), ("out", 1)).validity is Validity.VALID


def test_a_stack_gives_the_newest_first() -> None:
    assert judged("stack", ("in", 1), ("in", 2), ("out", 1)).validity is Validity.INVALID
    good = judged("stack", ("in", 1), ("in", 2), ("out", 2), ("in", 3), ("out", 3), ("out", 1))
    assert good.validity is Validity.VALID


def test_a_take_of_unknown_outcome_may_have_taken_the_oldest_of_a_queue() -> None:
    story = (("in", 1), ("in", 2))
    assert judged("fifo-queue", *story, ("out", 2)).validity is Validity.INVALID
    with_doubt = (*story, ("out", None, "info"), ("out", 2))
    assert judged("fifo-queue", *with_doubt).validity is Validity.VALID  # type: ignore[arg-type]
    too_late = (*story, ("out", 2), ("out", None, "info"))
    assert judged("fifo-queue", *too_late).validity is Validity.INVALID  # type: ignore[arg-type]


@BOTH
def test_long_histories_need_no_search(model: str) -> None:
    count = 600
    values = range(count) if model == "fifo-queue" else reversed(range(count))
    steps = [("in", value) for value in range(count)] + [("out", value) for value in values]
    assert judged(model, *steps).validity is Validity.VALID
    for at in (count, 2 * count - 2):
        swapped = [*steps[:at], steps[at + 1], steps[at], *steps[at + 2 :]]
        assert judged(model, *swapped).validity is Validity.INVALID


@BOTH
def test_values_that_are_put_there_twice_are_searched(model: str) -> None:
    result = judged(model, ("in", 1), ("in", 1), ("out", 1), ("out", 1))
    assert result.why == "no answer within 1 configurations"
