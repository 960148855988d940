"""What the last stable offset proves, and what it does not."""

from __future__ import annotations

from typing import Any

import pytest

from checkers import check
from checkers.contract import Contract
from checkers.verdict import Validity
from tests.unit.checkers.stories import told

TXN: Any = (0, "ok", "txn", [["send", "x", [0, 1]]])


@pytest.mark.parametrize(
    ("answer", "validity"),
    [
        ({"high": {"x": 2}, "stable": {"x": 0}}, Validity.INVALID),
        ({"high": {"x": 2}, "stable": {"x": 2}}, Validity.VALID),
        # An empty part asks after no log at all.
        ({"high": {}, "stable": {}}, Validity.UNKNOWN),
        ({"high": {"x": 2}, "stable": {}}, Validity.UNKNOWN),
        ({"high": {}, "stable": {"x": 0}}, Validity.UNKNOWN),
        ({"stable": {"x": 0}}, Validity.UNKNOWN),
    ],
)
def test_only_a_log_with_both_ends_told_is_judged(answer: Any, validity: Validity) -> None:
    history = told(TXN, (1, "ok", "end-offsets", answer))
    (verdict,) = check(history, Contract.safe(), ["hanging-transaction"])
    assert verdict.validity is validity
