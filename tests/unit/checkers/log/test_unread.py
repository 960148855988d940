"""What was acknowledged and never polled, in words."""

from __future__ import annotations

import pytest

from checkers import check
from checkers.contract import Contract
from tests.unit.checkers.stories import polled, sent, told


@pytest.mark.parametrize(
    ("offsets", "said"),
    [
        ((0,), "1 record of x was acknowledged and never polled: 0, which process 0 (op 1) sent"),
        (
            (0, 1),
            "2 records of x were acknowledged and never polled, the first of them 0, which "
            "process 0 (op 1) sent",
        ),
    ],
)
def test_one_is_told_as_one(offsets: tuple[int, ...], said: str) -> None:
    history = told(*(sent(0, "x", (at, at)) for at in offsets), polled(1, "y"))
    (verdict,) = check(history, Contract(), ["unseen"])
    assert [anomaly.because for anomaly in verdict.anomalies] == [said]
