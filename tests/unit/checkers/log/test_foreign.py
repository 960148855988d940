"""What was written in other ways than by a send is no phantom."""

from __future__ import annotations

from typing import Any

import pytest

from checkers import check
from checkers.contract import Contract
from checkers.verdict import Validity
from tests.unit.checkers.stories import polled, told


def put(name: str, value: int) -> Any:
    return 0, "ok", "put", [["put", name, [0, value]]]


@pytest.mark.parametrize(
    ("written", "validity"),
    [
        ((0, "ok", "txn", [["append", "x-0", 7]]), Validity.VALID),
        ((0, "info", "txn", [["append", "x-0", 7]]), Validity.VALID),
        ((0, "ok", "txn", [["append", "x-1", 7]]), Validity.INVALID),
        ((0, "ok", "txn", [["append", "x-0", 8]]), Validity.INVALID),
        (put("x-0/a", 7), Validity.VALID),
        (put("x-1/a", 7), Validity.INVALID),
        # Not of a client's.
        ((-1, "ok", "txn", [["append", "x-0", 7]]), Validity.INVALID),
    ],
)
def test_who_wrote_what_was_polled(written: Any, validity: Validity) -> None:
    history = told(written, polled(1, "x-0", (0, 7)))
    (verdict,) = check(history, Contract.safe(), ["phantom-read"])
    assert verdict.validity is validity
