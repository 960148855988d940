"""Registers against the order of time: what a get may miss, and what it may not."""

from __future__ import annotations

from typing import Any

import pytest

from checkers import check
from checkers.contract import Contract
from checkers.verdict import Anomaly, Validity
from tests.unit.checkers.stories import got, put, told

NAME = "nonlinearizable-register"


def found(*story: Any, contract: Contract | None = None) -> tuple[Anomaly, ...]:
    (verdict,) = check(told(*story), contract or Contract(), [NAME])
    assert verdict.validity in (Validity.VALID, Validity.INVALID), verdict.why
    return verdict.anomalies


@pytest.mark.parametrize(
    "story",
    [
        (put(0, 5, 1), put(0, 4, 2), got(1, 6, 1)),
        (put(0, 4, 1), put(0, 5, 2), got(1, 6, 1)),
        (put(0, 4, 1), got(1, 9, 7)),
        (put(0, 4, 1), put(1, None, 2, outcome="info"), got(2, 9, 2), got(2, 9, 1)),
        (put(0, 4, 1), got(1, 5, None)),
        (put(0, None, 2, outcome="fail"), put(0, 4, 1), got(1, 5, 2)),
    ],
    ids=[
        "the later put is earlier in the log",
        "replaced below the end",
        "never put",
        "back to the value before",
        "lost below the end",
        "put in vain",
    ],
)
def test_what_no_order_explains_is_found(story: tuple[Any, ...]) -> None:
    (anomaly,) = found(*story)
    assert anomaly.type == NAME


@pytest.mark.parametrize(
    "story",
    [
        (put(0, 4, 1), put(0, 5, 2), got(1, 5, 1)),
        (put(0, 4, 1), put(0, 5, 2), got(1, 6, 2), got(2, 5, 1)),
        (put(0, 4, 1), put(1, None, 2, outcome="info"), got(2, 9, 2), got(3, 5, 1)),
        (put(1, None, 2, outcome="info"), put(0, 4, 1), got(2, 6, 2)),
        (put(0, 4, 1), put(0, 5, None), got(1, 6, None)),
        (put(0, None, 1), got(1, 5, None)),
        (put(0, 4, 1), got(1, -1, None)),
    ],
    ids=[
        "a deposed leader that lacks the second put",
        "after a get that read further",
        "after a get that shows a put of unknown outcome",
        "a put of unknown outcome that came late",
        "deleted",
        "a put whose offset is not known",
        "a get that does not say how far it read",
    ],
)
def test_a_get_may_be_old_as_far_as_its_end_says(story: tuple[Any, ...]) -> None:
    assert found(*story) == ()


def test_a_configuration_that_loses_writes_promises_no_order() -> None:
    weak = Contract(acks="1", judged_by="configured")
    assert found(put(0, 4, 1), got(1, 5, None), contract=weak) == ()


def test_gets_alone_prove_nothing() -> None:
    (verdict,) = check(told(got(1, 5, None)), Contract(), [NAME])
    assert (verdict.validity, bool(verdict.why)) == (Validity.UNKNOWN, True)
