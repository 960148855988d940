"""Offsets as far apart as they can be: tables by offset would wrap around, so they are ranked."""

from __future__ import annotations

from checkers.models import Question, judge
from checkers.verdict import Validity
from harness.history.element import INT64_MAX
from harness.history.history import History
from harness.history.op import NEMESIS, Op
from tests.unit.checkers.stories import polled, sent, told


def test_widths_whose_sum_has_no_integer() -> None:
    ends = {"x": ((0, 1), (INT64_MAX - 1, 2)), "y": ((0, 3), (INT64_MAX - 1, 4))}
    sends = [sent(0, key, pair) for key, pairs in ends.items() for pair in pairs]
    polls = [polled(1, key, *pairs) for key, pairs in ends.items()]
    result = judge(told(*sends, *polls), "kafka", Question())
    assert result.validity is Validity.VALID, result.why


def test_what_no_client_says_of_an_offset_is_no_matter() -> None:
    rows = [*told(sent(0, "x", (0, 1)), polled(1, "x", (0, 1)))]
    rows.append(Op(len(rows), len(rows), NEMESIS, "info", "send", [["send", "x", [INT64_MAX, 2]]]))
    result = judge(History.of(rows), "kafka", Question())
    assert result.validity is Validity.VALID, result.why
