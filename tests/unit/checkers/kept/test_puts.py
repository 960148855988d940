"""Registers on a compacted topic, by offsets: what a get and the reading back must show."""

from __future__ import annotations

from typing import Any

import pytest

from checkers import check
from checkers.contract import Contract
from checkers.verdict import Anomaly, Validity
from tests.unit.checkers.stories import got, polled, put, told


def found(name: str, *story: Any) -> tuple[Anomaly, ...]:
    (verdict,) = check(told(*story), Contract(), [name])
    assert verdict.validity in (Validity.VALID, Validity.INVALID), verdict.why
    return verdict.anomalies


def test_a_get_that_lost_a_value_below_its_end_says_who_put_it() -> None:
    (lost,) = found("replaced-get", put(0, 4, 1), got(1, 5, None))
    assert lost.ops == (1, 3)
    assert lost.because == (
        "x/a: process 0 (op 1) put 1 at offset 4; process 1 (op 3) read up to offset 5 and "
        "got nothing"
    )


@pytest.mark.parametrize(
    "story",
    [
        (put(0, 4, 1), got(1, 4, None)),
        (put(0, 4, 1), put(0, 5, None), got(1, 6, None)),
        (put(0, 4, 1), put(1, None, None, outcome="info"), got(2, 6, None)),
        (put(0, 4, 1), put(1, None, 2, outcome="info"), got(2, 6, 2)),
        (put(1, None, 2, outcome="info"), put(0, 4, 1), got(2, 6, 2)),
        (put(0, 4, 1), got(1, 9, 1), put(0, 5, 2)),
    ],
    ids=[
        "beyond what it read",
        "deleted",
        "deleted perhaps",
        "replaced perhaps",
        "come late perhaps",
        "put too late for it",
    ],
)
def test_a_get_is_given_the_benefit_of_the_doubt(story: tuple[Any, ...]) -> None:
    assert not found("replaced-get", *story)


def test_of_two_puts_at_once_the_log_says_which_was_last() -> None:
    assert found("replaced-get", put(0, 5, 1), put(1, 4, 2), got(2, 6, 2))
    assert not found("replaced-get", put(0, 5, 1), put(1, 4, 2), got(2, 6, 1))


def test_where_a_put_of_unknown_outcome_was_polled_it_has_a_place() -> None:
    story = (put(0, None, 2, outcome="info"), put(1, 4, 1), got(2, 6, 2))
    assert found("replaced-get", *story, polled(3, "x", (3, 2), (4, 1)))
    assert not found("replaced-get", *story, polled(3, "x", (4, 1), (5, 2)))


def test_what_nobody_put_there_is_found() -> None:
    (strange,) = found("replaced-get", put(0, 0, 1), got(1, 1, "damaged: x"))
    assert "which no process had put there" in strange.because
    assert found("replaced-get", put(0, None, 1, outcome="fail"), got(1, 1, 1))


def test_a_deleted_name_that_is_read_again_is_found() -> None:
    assert found("lost-put", put(0, 0, 1), put(0, 1, None), polled(1, "x", (0, 1)))
    # The tombstone is still there, or both are gone.
    assert not found("lost-put", put(0, 0, 1), put(0, 1, None), polled(1, "x", (0, 1), (1, None)))
    assert not found("lost-put", put(0, 0, 1), put(0, 1, None), polled(1, "x", (7, 9)))


def test_a_value_whose_offset_holds_another_record_now_is_lost() -> None:
    assert found("lost-put", put(0, 0, 1), polled(1, "x", (0, 9)))


def test_a_value_may_be_gone_if_it_was_replaced_or_deleted_perhaps() -> None:
    later = put(1, None, 2, outcome="info")
    assert not found("lost-put", put(0, 0, 1), later, polled(2, "x", (5, 2)))
    assert found("lost-put", put(0, 0, 1), later, polled(2, "x", (5, 3)))
    deleted = put(1, None, None, outcome="info")
    assert not found("lost-put", put(0, 0, 1), deleted, polled(2, "x", (5, 3)))


def test_what_is_below_the_beginning_of_the_log_was_deleted_by_retention() -> None:
    low: Any = (2, "ok", "end-offsets", {"low": {"x": 3}})
    (verdict,) = check(told(put(0, 0, 1), polled(1, "x", (5, 3)), low), Contract(), ["lost-put"])
    assert verdict.validity is Validity.UNKNOWN


def test_of_two_puts_that_were_acknowledged_at_one_offset_one_is_lost() -> None:
    told_of = [
        one.because for one in found("lost-put", put(0, 4, 1), put(1, 4, 2), polled(2, "x", (4, 2)))
    ]
    assert told_of == [
        "x/a: process 0 (op 1) put 1 at offset 4; at the end 2 is there",
        "x/a: process 1 (op 3) put 2 at offset 4; process 0 (op 1) put 1 at offset 4 as well",
    ]


def test_a_put_whose_offset_holds_another_record_is_lost_though_it_was_replaced() -> None:
    story = (put(0, 4, 1), put(0, 5, 3), polled(2, "x", (4, 2), (5, 3)))
    (lost,) = found("lost-put", *story)
    assert lost.because == ("x/a: process 0 (op 1) put 1 at offset 4; at the end 2 is there")


def test_a_deletion_whose_place_is_not_known_may_have_come_last() -> None:
    assert not found("replaced-get", put(0, 4, 1), put(1, None, None), got(2, 6, None))


DELETED_PERHAPS = put(1, None, None, outcome="info")


def ended(high: int) -> Any:
    return 9, "ok", "end-offsets", {"low": {"x": 0}, "high": {"x": high}}


@pytest.mark.parametrize(
    "story",
    [
        (put(0, 4, 1), DELETED_PERHAPS, got(2, 5, None)),
        (DELETED_PERHAPS, put(0, 4, 1), put(0, 6, 2), got(2, 7, None)),
        (put(0, 4, 1), got(2, 9, 1), DELETED_PERHAPS, got(3, 9, None)),
        (put(0, 4, 1), got(3, 6, None), DELETED_PERHAPS),
        (put(0, 4, 1), DELETED_PERHAPS, got(2, 6, None), polled(3, "x", (5, 7))),
    ],
    ids=["right behind", "before it", "begun beyond it", "begun later", "another is there"],
)
def test_a_deletion_that_has_no_place_explains_nothing(story: tuple[Any, ...]) -> None:
    (lost,) = found("replaced-get", *story)
    assert lost.because.endswith("and got nothing")


def test_a_value_that_has_no_place_behind_the_last_is_an_old_one() -> None:
    old = put(0, None, 2, outcome="info")
    (lost,) = found("replaced-get", old, put(1, 4, 1), got(2, 5, 2))
    assert lost.because.endswith("got 2, which fits at no offset in between")
    assert not found("replaced-get", old, put(1, 4, 1), got(2, 6, 2))


def test_a_deletion_that_has_no_place_in_the_log_loses_nothing() -> None:
    story = (put(0, 0, 1), DELETED_PERHAPS, polled(2, "x", (1, 7)))
    assert found("lost-put", *story, ended(2))
    assert not found("lost-put", *story, ended(3)), "it may be there"
    assert not found("lost-put", *story), "nobody knows where the log ends"
    assert not found("lost-put", ended(2), *story), "nor what came since"


def test_what_came_when_all_was_read_may_have_replaced_what_was_not_read_yet() -> None:
    later = put(1, None, 2, outcome="info")
    for first in (put(0, 1, 1), put(0, 1, None)):
        story = (put(3, 0, 8), first, later, polled(2, "x", (0, 8)))
        assert found("lost-put", *story, ended(2))
        assert not found("lost-put", *story, ended(3))
