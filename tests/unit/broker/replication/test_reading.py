"""Up to where, and from whom, a consumer may read."""

from __future__ import annotations

import pytest

from broker.protocol.errors import ErrorCode
from broker.replication.own_registration import knows_this_life
from broker.replication.preferred_replica import preferred_replica
from broker.replication.read_limits import Reader, check_latest, check_position, read_limit
from tests.golden.replication.memory_log import MemoryLog, Record
from tests.unit.broker.replication.builders import LAG_S, Leading, broker, brokers, partition


class StableLog(MemoryLog):
    """With an open transaction since offset 3."""

    @property
    def last_stable_offset(self) -> int:
        return 3


def log() -> StableLog:
    """Begins at 2, ends at 8; up to 5 is committed."""
    made = StableLog()
    made.start_over(2)
    made.append_replicated([Record(1, f"v{offset}") for offset in range(2, 8)])
    made.advance_high_watermark(5)
    return made


@pytest.mark.parametrize(
    ("reader", "limit"), [(Reader.FOLLOWER, 8), (Reader.UNCOMMITTED, 5), (Reader.COMMITTED, 3)]
)
def test_the_limit_depends_on_the_reader(reader: Reader, limit: int) -> None:
    assert read_limit(log(), reader) == limit


def test_a_stable_offset_above_the_high_watermark_is_no_limit() -> None:
    made = log()
    made.high_watermark = 2
    assert read_limit(made, Reader.COMMITTED) == 2


@pytest.mark.parametrize(
    ("offset", "at_leader", "at_follower"),
    [
        (1, ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.OFFSET_OUT_OF_RANGE),
        (2, ErrorCode.NONE, ErrorCode.NONE),
        (7, ErrorCode.NONE, ErrorCode.NONE),
        (8, ErrorCode.NONE, ErrorCode.NONE),
        (9, ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.OFFSET_NOT_AVAILABLE),
    ],
)
def test_where_a_consumer_may_wait(
    offset: int, at_leader: ErrorCode, at_follower: ErrorCode
) -> None:
    assert check_position(log(), offset, is_leader=True) == at_leader
    assert check_position(log(), offset, is_leader=False) == at_follower


def test_the_latest_offset_is_told_once_the_epoch_start_is_committed() -> None:
    made = log()
    assert check_latest(made, 6, Reader.UNCOMMITTED) == ErrorCode.OFFSET_NOT_AVAILABLE
    assert check_latest(made, 6, Reader.COMMITTED) == ErrorCode.OFFSET_NOT_AVAILABLE
    assert check_latest(made, 6, Reader.FOLLOWER) == ErrorCode.NONE
    made.advance_high_watermark(6)
    assert check_latest(made, 6, Reader.UNCOMMITTED) == ErrorCode.NONE


def in_racks() -> Leading:
    """Nodes 1 and 2 in rack b, the leader in rack a; four records, all committed."""
    known = brokers(broker(1, rack="b"), broker(2, rack="b"))
    leading = Leading(known=known)
    leading.append(4)
    leading.progress(1, 4)
    leading.progress(2, 4)
    return leading


def chosen(leading: Leading, rack: str | None = "b", offset: int = 4) -> int | None:
    return preferred_replica(leading.state, own_rack="a", client_rack=rack, fetch_offset=offset)


def test_readers_stay_in_their_rack() -> None:
    leading = in_racks()
    assert chosen(leading) == 1
    assert [chosen(leading, rack) for rack in ("a", "c", None, "")] == [None] * 4


def test_the_replica_that_is_furthest_is_chosen() -> None:
    leading = in_racks()
    leading.append()
    leading.progress(2, 5)
    assert chosen(leading) == 2


def test_nobody_is_sent_to_a_replica_that_cannot_serve() -> None:
    leading = in_racks()
    assert chosen(leading, offset=5) is None
    known = brokers(broker(1, rack="b", fenced=True), broker(2, rack="b", epoch=2))
    leading.state.brokers_changed(known, leading.now)
    assert chosen(leading) is None


def test_nobody_is_sent_to_a_replica_that_is_not_in_sync() -> None:
    leading = in_racks()
    leading.state.metadata_changed(partition((0, 2), partition_epoch=11), leading.now)
    assert chosen(leading) == 2
    leading.now += LAG_S
    leading.state.metadata_changed(partition((0,), partition_epoch=12), leading.now)
    assert chosen(leading) is None


def test_metadata_from_before_the_registration_is_of_a_former_life() -> None:
    known = brokers(broker(0, epoch=7))
    assert knows_this_life(known, 0, 7)
    assert not knows_this_life(known, 0, 8)
    assert not knows_this_life({}, 0, 8)
