"""Offsets that must be somebody's, where every offset is."""

from __future__ import annotations

from typing import Any

import pytest

from checkers import check
from checkers.contract import Contract
from checkers.verdict import Validity
from tests.unit.checkers.stories import polled, sent, told

LOST = sent(0, "x", (None, 1), outcome="info")
UNPLACED = sent(2, "x", (None, 3))


def judged(*operations: Any, dense: bool = True) -> tuple[Validity, str]:
    contract = Contract(dense_offsets=dense)
    (verdict,) = check(told(*operations), contract, ["nonlinearizable-log"])
    return verdict.validity, verdict.anomalies[0].because if verdict.anomalies else verdict.why


def test_an_offset_that_nobody_can_have_is_found() -> None:
    validity, because = judged(sent(0, "x", (1, 1)))
    assert validity is Validity.INVALID
    assert because == (
        "offset 0 of x cannot be explained: it was in use when process 0 (op 1) ended with offset "
        "1, no record is known there, and 0 of 0 sends of unknown offset are needed for lower "
        "offsets; no other one fits"
    )


@pytest.mark.parametrize(
    "operations",
    [
        # A send of unknown outcome was begun in time.
        (LOST, sent(1, "x", (1, 2))),
        # So was one that was told no offset.
        (UNPLACED, sent(1, "x", (1, 2))),
        # That is after all that is known.
        (sent(1, "x", (0, 2)), UNPLACED),
        (sent(0, "x", (0, 1)), polled(1, "x", (0, 1))),
    ],
)
def test_gaps_that_can_be_filled(operations: Any) -> None:
    assert judged(*operations)[0] is Validity.VALID


@pytest.mark.parametrize(
    "operations",
    [
        # It was begun only after the offset above was acknowledged.
        (sent(1, "x", (1, 2)), LOST),
        # One send fills one gap.
        (LOST, sent(1, "x", (2, 2))),
        # It had failed.
        (sent(0, "x", (None, 1), outcome="fail"), sent(1, "x", (1, 2))),
        # Its own place is known.
        (LOST, polled(1, "x", (0, 1)), sent(1, "x", (2, 2))),
        # The end that was told takes an offset as well.
        (sent(0, "x", (0, 1)), (1, "ok", "end-offsets", {"high": {"x": 2}})),
        # Acknowledged before anything else was begun, and others have all places.
        (UNPLACED, sent(1, "x", (0, 2))),
        # An end beyond all that is known was told before the record below it was begun.
        ((1, "ok", "end-offsets", {"high": {"x": 5}}), sent(0, "x", (3, 1))),
    ],
)
def test_gaps_that_cannot_be_filled(operations: Any) -> None:
    assert judged(*operations)[0] is Validity.INVALID


def test_a_gap_says_nothing_where_offsets_may_have_gaps() -> None:
    assert judged(sent(0, "x", (1, 1)), dense=False)[0] is Validity.VALID


def test_more_gaps_than_can_be_counted_are_no_trouble() -> None:
    assert judged(LOST, sent(1, "x", (1 << 60, 2)))[0] is Validity.INVALID


def test_nor_are_they_where_a_send_has_no_place_of_its_own() -> None:
    far = 1 << 60
    operations = (polled(0, "x", (far, 7)), UNPLACED, sent(1, "x", (far + 1, 9)))
    validity, because = judged(*operations)
    assert validity is Validity.INVALID
    assert because.startswith("offset 0 of x cannot be explained: it was in use when process")
