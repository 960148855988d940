"""Topics as they are described: at any moment something that was, in the end what it came to."""

from __future__ import annotations

from typing import Any

import pytest

from checkers import check
from checkers.contract import Contract
from checkers.verdict import Anomaly, Validity
from tests.unit.checkers.stories import altered, deleted, described, grown, made, told


def found(name: str, *story: Any) -> tuple[Anomaly, ...]:
    (verdict,) = check(told(*story), Contract(), [name])
    assert verdict.validity in (Validity.VALID, Validity.INVALID), verdict.why
    return verdict.anomalies


def test_a_setting_that_nobody_made_is_found() -> None:
    (strange,) = found("phantom-topic", made(0, a="1"), described(1, 3, a="2"))
    assert strange.because == (
        'process 1 (op 3) was shown t with a="2", which no operation had set'
    )
    assert found("phantom-topic", made(0, a="1"), described(1, 3))
    assert found("phantom-topic", made(0, a="1"), described(1, 3, a="1", b="1"))
    assert found("phantom-topic", made(0, outcome="fail"), described(1, 3))
    assert found("phantom-topic", made(0), altered(0, "fail", a="1"), described(1, 3, a="1"))


@pytest.mark.parametrize(
    "shown", [described(1, None), described(1, 3, a="1"), described(1, 3, a="2"), described(1, 3)]
)
def test_while_all_goes_on_any_state_that_was_may_be_shown(shown: Any) -> None:
    story = (made(0, a="1"), altered(0, a="2"), altered(0, a=None), shown)
    assert not found("phantom-topic", *story)


def test_a_later_change_explains_nothing() -> None:
    assert found("phantom-topic", made(0, a="1"), described(1, 3, a="2"), altered(0, a="2"))


@pytest.mark.parametrize(
    ("story", "shown"),
    [
        ((made(0),), described(1, None, settled=True)),
        ((made(0), deleted(0)), described(1, 3, settled=True)),
        ((made(0, a="1"), altered(0, a="2")), described(1, 3, settled=True, a="1")),
        ((made(0, a="1"), altered(0, a=None)), described(1, 3, settled=True, a="1")),
        ((made(0, a="1"), altered(0, a="2"), altered(0, b="2")), described(1, 3, settled=True)),
    ],
    ids=["made", "deleted", "altered", "taken away", "each setting by itself"],
)
def test_in_the_end_an_acknowledged_change_is_shown(story: tuple[Any, ...], shown: Any) -> None:
    assert found("lost-change", *story, shown)


@pytest.mark.parametrize(
    ("story", "shown"),
    [
        ((made(0), deleted(0)), described(1, None, settled=True)),
        ((made(0), deleted(0, "info")), described(1, None, settled=True)),
        ((made(0), deleted(0, "info")), described(1, 3, settled=True)),
        ((made(0, "info"),), described(1, None, settled=True)),
        ((made(0), deleted(0), made(0)), described(1, 3, settled=True)),
        # Which settings are of which life is not asked where there were several.
        (
            (made(0, a="1"), altered(0, a="2"), deleted(0, "info")),
            described(1, 3, settled=True, a="1"),
        ),
        ((made(0, a="1"), altered(0, "info", a="2")), described(1, 3, settled=True, a="1")),
        (
            (made(0), altered(0, "info", a="2"), altered(0, a="1")),
            described(1, 3, settled=True, a="2"),
        ),
    ],
)
def test_in_the_end_what_is_not_certain_may_be_or_not(story: tuple[Any, ...], shown: Any) -> None:
    assert not found("lost-change", *story, shown)


def test_topics_that_were_there_before_prove_nothing() -> None:
    for name in ("phantom-topic", "lost-change"):
        (verdict,) = check(told(described(1, 3, settled=True)), Contract(), [name])
        assert verdict.validity is Validity.UNKNOWN


def test_who_made_it_and_who_missed_it_are_named() -> None:
    (lost,) = found("lost-change", made(0), described(1, None, settled=True))
    assert lost.ops == (1, 3)
    assert lost.because == (
        "process 0 (op 1) made t; after healing process 1 (op 3) was shown no such topic"
    )


def test_added_partitions_must_be_there_in_the_end() -> None:
    (lost,) = found("lost-change", grown(0, 5), described(1, 4, settled=True))
    assert lost.because == (
        "process 0 (op 1) gave t 5 partitions; after healing process 1 (op 3) was shown 4 "
        "partitions"
    )
    assert found("lost-change", made(0), grown(0, 5), described(1, 3, settled=True))
    assert found("lost-change", grown(0, 5), grown(0, 6), described(1, 5, settled=True))


@pytest.mark.parametrize(
    "story",
    [
        (grown(0, 5), described(1, 5, settled=True)),
        (grown(0, 5), grown(0, 6, "info"), described(1, 6, settled=True)),
        (grown(0, 5), grown(0, 6, "info"), described(1, 5, settled=True)),
        (grown(0, 5), described(1, 4), described(1, 5, settled=True)),
        (made(0), grown(0, 5), described(1, 3), described(1, 5, settled=True)),
    ],
)
def test_partitions_that_were_added_are_no_anomaly(story: Any) -> None:
    assert not found("lost-change", *story)
    assert not found("phantom-topic", *story)


def test_partitions_that_nobody_added_are_found() -> None:
    assert found("phantom-topic", grown(0, 5), grown(0, 7), described(1, 6))
    assert found("phantom-topic", grown(0, 5, "info"), described(1, 6))
    assert found("phantom-topic", made(0), grown(0, 5), described(1, 4))
