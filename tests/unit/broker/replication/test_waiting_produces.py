"""Whoever waits for acks=all is answered once, in order, and with the truth."""

from __future__ import annotations

from random import Random

from broker.protocol.errors import ErrorCode
from broker.replication.waiting_produces import WaitingProduces


def waiting(*offsets: int, deadline: float = 30.0) -> WaitingProduces[str]:
    produces: WaitingProduces[str] = WaitingProduces()
    for offset in offsets:
        produces.add(f"to {offset}", offset, deadline)
    return produces


def test_they_come_out_when_the_high_watermark_has_reached_them() -> None:
    produces = waiting(3, 5, 5, 9)
    assert produces.take_committed(2, is_under_min_isr=False) == []
    assert produces.take_committed(5, is_under_min_isr=False) == [
        ("to 3", ErrorCode.NONE),
        ("to 5", ErrorCode.NONE),
        ("to 5", ErrorCode.NONE),
    ]
    assert produces.take_committed(5, is_under_min_isr=False) == []
    assert len(produces) == 1


def test_a_duplicate_may_wait_for_less_than_those_before_it() -> None:
    produces = waiting(9, 4)
    assert produces.take_committed(4, is_under_min_isr=False) == [("to 4", ErrorCode.NONE)]


def test_a_set_that_has_become_too_small_is_said() -> None:
    produces = waiting(1)
    assert produces.take_committed(1, is_under_min_isr=True) == [
        ("to 1", ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
    ]


def test_time_runs_out_for_each_of_them() -> None:
    produces = waiting(1, deadline=10.0)
    produces.add("hasty", 2, 5.0)
    assert produces.next_deadline == 5.0
    assert produces.take_expired(4.9) == []
    assert produces.take_expired(5.0) == [("hasty", ErrorCode.REQUEST_TIMED_OUT)]
    assert produces.next_deadline == 10.0
    assert produces.take_committed(2, is_under_min_isr=False) == [("to 1", ErrorCode.NONE)]
    assert produces.next_deadline is None
    assert produces.take_expired(99.0) == []


def test_a_lost_leadership_answers_all() -> None:
    produces = waiting(3, 1, 2)
    lost = ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert produces.take_all() == [("to 3", lost), ("to 1", lost), ("to 2", lost)]
    assert len(produces) == 0
    assert produces.take_committed(9, is_under_min_isr=False) == []
    assert produces.next_deadline is None


def test_those_who_are_gone_are_not_kept() -> None:
    produces = waiting()
    for offset in range(1, 5000):
        produces.add("", offset, float(offset % 7))
        produces.take_committed(offset, is_under_min_isr=False)
    assert len(produces._by_deadline) < 100
    for offset in range(5000):
        produces.add("", 10_000, float(offset))
        produces.take_expired(float(offset))
    assert len(produces._by_offset) < 100


def test_everyone_comes_out_exactly_once() -> None:
    random = Random(3)
    produces: WaitingProduces[int] = WaitingProduces()
    out: list[int] = []
    for number in range(2000):
        produces.add(number, random.randrange(4000), random.uniform(0, 4000))
        if random.random() < 0.2:
            out += [key for key, _ in produces.take_expired(number)]
        if random.random() < 0.2:
            out += [key for key, _ in produces.take_committed(number, is_under_min_isr=False)]
    out += [key for key, _ in produces.take_all()]
    assert sorted(out) == list(range(2000))
