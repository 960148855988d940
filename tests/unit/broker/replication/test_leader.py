"""A leader: what is committed, and whose fetch counts for it."""

from __future__ import annotations

import pytest

from broker.protocol.errors import ErrorCode
from broker.replication.fetch_check import Diverging, OutOfRange
from broker.replication.leader import Progress, Refused
from tests.unit.broker.replication.builders import LAG_S, Leading, broker, brokers, partition


def test_a_single_replica_commits_what_it_appends() -> None:
    leading = Leading(partition((0,), replicas=(0,)), count=3, min_isr=2)
    assert leading.state.high_watermark == 3
    assert leading.append()
    assert leading.state.high_watermark == 4


def test_the_slowest_member_holds_the_high_watermark() -> None:
    leading = Leading()
    assert not leading.append(5)
    assert leading.progress(1, 5) == Progress()
    assert leading.progress(2, 3) == Progress(high_watermark_moved=True)
    assert leading.state.high_watermark == 3
    leading.progress(2, 4)
    assert leading.state.high_watermark == 4


def test_a_member_that_has_not_fetched_yet_holds_it_too() -> None:
    leading = Leading(count=5, high_watermark=2)
    leading.progress(1, 5)
    assert leading.state.high_watermark == 2
    leading.progress(2, 5)
    assert leading.state.high_watermark == leading.state.epoch_start_offset == 5


def test_it_never_goes_back() -> None:
    leading = Leading(count=5, high_watermark=4)
    leading.progress(1, 1)
    leading.progress(2, 1)
    assert leading.state.high_watermark == 4


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (4, ErrorCode.FENCED_LEADER_EPOCH),
        (6, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (-1, ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_fetch_under_another_leader_epoch_is_refused(asked: int, code: ErrorCode) -> None:
    leading = Leading()
    leading.append()
    outcome = leading.fetch(1, 1, leader_epoch=asked)
    assert isinstance(outcome, Refused)
    assert outcome.code == code
    assert leading.state.followers[1].log_end == -1


def test_a_node_without_a_replica_is_told_to_come_again() -> None:
    outcome = Leading().fetch(9, 0)
    assert isinstance(outcome, Refused)
    assert outcome.code == ErrorCode.UNKNOWN_LEADER_EPOCH


def test_a_diverging_or_impossible_fetch_does_not_count() -> None:
    leading = Leading(partition((0, 1)), count=2)
    leading.append(2)
    assert leading.fetch(1, 4, last_epoch=4) == Diverging(4, 2)
    assert leading.fetch(1, 9, last_epoch=5) == Diverging(5, 4)
    assert leading.fetch(1, 9, last_epoch=-1) == OutOfRange(0, 4)
    leading.log.advance_high_watermark(2)
    leading.log.raise_start(2)
    assert leading.fetch(1, 1, last_epoch=4) == OutOfRange(2, 4)
    assert leading.state.followers[1].log_end == -1
    assert leading.state.high_watermark == 0


def test_what_cannot_be_compared_is_taken_for_diverging() -> None:
    leading = Leading(partition((0, 1)), count=2)
    leading.append(2)
    assert isinstance(leading.fetch(1, 2, last_epoch=4), Progress)
    leading.log.advance_high_watermark(4)
    leading.log.raise_start(2)
    # Epoch 4 ended at offset 2, and who wrote offset 1 is forgotten.
    assert leading.fetch(1, 2, last_epoch=4) == Diverging(4, 2)
    assert leading.fetch(1, 2, last_epoch=-1) == Progress()
    leading.log.raise_start(3)
    assert isinstance(leading.fetch(1, 3, last_epoch=5), Progress)


def test_below_min_isr_the_high_watermark_stands_still() -> None:
    leading = Leading(partition((0,)), min_isr=2)
    assert not leading.append()
    assert leading.state.can_accept(-1) == ErrorCode.NOT_ENOUGH_REPLICAS
    assert leading.state.can_accept(1) == ErrorCode.NONE
    assert leading.state.check_lag(leading.now + LAG_S + 1) == Progress()
    assert leading.state.min_insync_replicas_changed(1, leading.now).high_watermark_moved
    assert leading.state.high_watermark == 1
    assert leading.state.can_accept(-1) == ErrorCode.NONE


def test_more_than_all_replicas_are_never_asked_for() -> None:
    leading = Leading(partition((0, 1), replicas=(0, 1)), min_isr=3)
    assert leading.state.can_accept(-1) == ErrorCode.NONE


def test_an_eligible_replica_counts_without_being_in_sync() -> None:
    leading = Leading(partition((0,), elr=(1,)), min_isr=1)
    assert not leading.append()
    leading.progress(1, 1)
    assert leading.state.high_watermark == 1


def test_a_follower_that_was_level_is_waited_for_until_its_time_is_up() -> None:
    leading = Leading(partition((0,)))
    leading.append()
    assert leading.state.high_watermark == 1
    leading.progress(1, 1)
    refused = leading.state.in_flight
    assert refused is not None
    leading.state.metadata_changed(partition((0,), partition_epoch=11), leading.now)
    assert not leading.append()
    leading.now += LAG_S
    assert leading.state.check_lag(leading.now) == Progress()
    leading.now += 1
    assert leading.state.check_lag(leading.now) == Progress(high_watermark_moved=True)
    assert leading.append()


def test_a_fenced_follower_is_not_waited_for() -> None:
    leading = Leading(partition((0,)))
    leading.append()
    leading.progress(1, 1)
    leading.state.metadata_changed(partition((0,), partition_epoch=11), leading.now)
    assert not leading.append()
    known = brokers(broker(1, fenced=True))
    assert leading.state.brokers_changed(known, leading.now).high_watermark_moved


def test_the_fetch_of_a_former_life_is_refused() -> None:
    leading = Leading(known=brokers(broker(1, epoch=7)))
    leading.append()
    outcome = leading.fetch(1, 1, broker_epoch=6)
    assert isinstance(outcome, Refused)
    assert outcome.code == ErrorCode.STALE_BROKER_EPOCH
    # The node may know of its new life before the leader does.
    leading.progress(1, 0, broker_epoch=8)
    assert isinstance(leading.fetch(1, 1, broker_epoch=7), Refused)


def test_a_restart_takes_away_what_the_follower_had() -> None:
    leading = Leading(partition((0, 1)))
    leading.append()
    leading.state.brokers_changed(brokers(broker(1, epoch=7)), leading.now)
    leading.append()
    assert leading.state.followers[1].log_end == -1
    leading.progress(1, 2, broker_epoch=7)
    assert leading.state.high_watermark == 2


def test_the_low_watermark_is_that_of_the_live_replicas() -> None:
    leading = Leading()
    assert leading.state.low_watermark(3) == -1
    leading.progress(1, 0)
    leading.progress(2, 0)
    assert leading.state.low_watermark(3) == 0
    known = brokers(broker(1, fenced=True), broker(2, fenced=True))
    leading.state.brokers_changed(known, leading.now)
    assert leading.state.low_watermark(3) == 3


def test_replicas_come_and_go() -> None:
    leading = Leading(partition((0, 1)))
    leading.append()
    added = partition((0, 1), replicas=(0, 1, 3), partition_epoch=11)
    leading.state.metadata_changed(added, leading.now)
    assert list(leading.state.followers) == [1, 3]
    alone = partition((0,), replicas=(0,), partition_epoch=12)
    assert leading.state.metadata_changed(alone, leading.now).high_watermark_moved
    assert leading.append()
