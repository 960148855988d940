"""What a leader answers, counts and describes."""

from __future__ import annotations

import pytest

from broker.protocol.errors import ErrorCode
from broker.raft.effects import AnnounceEnd, Effect, HighWatermarkAdvanced
from broker.raft.errors import BrokenRuleError
from broker.raft.events import (
    EpochEnd,
    FetchAnswer,
    FetchRequested,
    LogFlushed,
    Resign,
    SnapshotId,
    SnapshotRequested,
    TimePassed,
)
from broker.raft.leading import OBSERVER_MEMORY_S, find_parting
from broker.raft.machine import Raft
from broker.raft.roles import Role
from tests.unit.broker.raft.builders import answer_in, follower_of, leader_of, log_of
from tests.unit.broker.raft.memory_log import MemoryLog, Record


def fetch(
    raft: Raft, replica_id: int, offset: int, last_epoch: int, *, now: float = 10.0
) -> list[Effect]:
    return raft.step(FetchRequested(1, replica_id, raft.epoch, offset, last_epoch), now)


@pytest.mark.parametrize(
    ("offset", "last_epoch", "parting"),
    [
        (0, 0, None),
        (2, 1, None),
        (3, 3, None),
        (5, 5, None),
        (3, 1, EpochEnd(1, 2)),
        (3, 2, EpochEnd(1, 2)),
        (6, 5, EpochEnd(5, 5)),
        (4, 4, EpochEnd(3, 4)),
        (9, 7, EpochEnd(5, 5)),
    ],
    ids=str,
)
def test_a_log_is_a_prefix_or_told_where_it_parts(
    offset: int, last_epoch: int, parting: EpochEnd | None
) -> None:
    assert find_parting(log_of(1, 1, 3, 3, 5), offset, last_epoch) == parting


def test_a_log_that_shares_no_epoch_begins_anew() -> None:
    assert find_parting(log_of(4, 4), 2, 3) == EpochEnd(3, 0)


@pytest.mark.parametrize(
    ("offset", "last_epoch", "is_sent"),
    [(0, 0, True), (2, 1, True), (3, 1, True), (3, 3, False), (4, 3, False)],
    ids=str,
)
def test_what_is_gone_from_the_log_is_in_the_snapshot(
    offset: int, last_epoch: int, is_sent: bool
) -> None:
    log = log_of(1, 1, 3, 3, 5)
    log.take_snapshot(3)
    assert find_parting(log, offset, last_epoch) == (SnapshotId(3, 3) if is_sent else None)


def test_a_log_without_its_beginning_and_without_a_snapshot_is_broken() -> None:
    log = log_of(1, 1)
    log.take_snapshot(1)
    log.snapshot_id = None
    with pytest.raises(BrokenRuleError, match="no snapshot"):
        find_parting(log, 0, 0)


def test_three_of_five_hold_what_is_committed() -> None:
    log = log_of(1)
    raft = leader_of(log, voters=(1, 2, 3, 4, 5))
    log.append(Record(raft.epoch, "r") for _ in range(4))
    log.flush()
    assert HighWatermarkAdvanced(3) not in fetch(raft, 2, 6, raft.epoch)
    assert HighWatermarkAdvanced(3) in fetch(raft, 3, 3, raft.epoch)
    assert HighWatermarkAdvanced(4) in fetch(raft, 4, 4, raft.epoch)
    assert raft.high_watermark == 4


def test_a_fetch_from_further_back_lowers_no_high_watermark() -> None:
    raft = leader_of(log_of(1))
    fetch(raft, 2, 2, raft.epoch)
    assert raft.high_watermark == 2
    fetch(raft, 2, 1, 1)
    assert raft.high_watermark == 2


def test_the_leader_counts_what_it_flushed() -> None:
    log = log_of(1)
    raft = leader_of(log)
    log.append([Record(raft.epoch, "r")])
    fetch(raft, 2, 3, raft.epoch)
    assert raft.high_watermark == 2
    log.flush()
    assert raft.step(LogFlushed(), 10.0) == [HighWatermarkAdvanced(3)]


def test_observers_with_a_later_epoch_unseat_nobody_but_voters_do() -> None:
    raft = leader_of(log_of(1))
    later = raft.epoch + 1
    observer = answer_in(raft.step(FetchRequested(1, 9, later, 0, 0), 10.0))
    assert (observer.error, raft.role) == (ErrorCode.UNKNOWN_LEADER_EPOCH, Role.LEADER)
    voter = answer_in(raft.step(FetchRequested(1, 2, later, 0, 0), 10.0))
    assert voter == FetchAnswer(later, None, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert raft.role is Role.UNATTACHED


def test_only_the_leader_of_the_epoch_serves_fetches() -> None:
    raft = follower_of(3, MemoryLog(), epoch=5)
    stale = answer_in(raft.step(FetchRequested(1, 2, 4, 0, 0), 10.0))
    assert stale == FetchAnswer(5, 3, error=ErrorCode.FENCED_LEADER_EPOCH)
    current = answer_in(raft.step(FetchRequested(1, 2, 5, 0, 0), 10.0))
    assert current == FetchAnswer(5, 3, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)


def test_nonsense_is_refused() -> None:
    raft = leader_of(log_of(1))
    assert answer_in(fetch(raft, 2, -1, 0)).error is ErrorCode.INVALID_REQUEST
    assert answer_in(fetch(raft, 1, 0, 0)).error is ErrorCode.INVALID_REQUEST


def test_a_reader_that_is_no_replica_leaves_no_trace() -> None:
    raft = leader_of(log_of(1))
    assert answer_in(fetch(raft, -1, 2, raft.epoch)).error is ErrorCode.NONE
    assert [row.replica_id for row in raft.replicas(10.0)] == [1, 2, 3]


def test_observers_are_described_and_forgotten_after_a_while() -> None:
    raft = leader_of(log_of(1))
    fetch(raft, 9, 2, raft.epoch, now=11.0)
    rows = {row.replica_id: row for row in raft.replicas(12.0)}
    assert (rows[9].is_voter, rows[9].log_end_offset, rows[9].last_fetch_at) == (False, 2, 11.0)
    assert (rows[2].is_voter, rows[2].log_end_offset, rows[2].last_fetch_at) == (True, None, None)
    assert (rows[1].log_end_offset, rows[1].last_caught_up_at) == (2, 12.0)
    fetch(raft, 8, 2, raft.epoch, now=11.0 + OBSERVER_MEMORY_S)
    assert [row.replica_id for row in raft.replicas(400.0)] == [1, 2, 3, 8]


def test_a_follower_was_caught_up_when_it_fetched_all_there_was() -> None:
    log = log_of(1)
    raft = leader_of(log)
    fetch(raft, 2, 2, raft.epoch, now=11.0)
    log.append([Record(raft.epoch, "r")])
    fetch(raft, 2, 2, raft.epoch, now=12.0)
    assert raft.replicas(12.0)[1].last_caught_up_at == 11.0
    log.append([Record(raft.epoch, "r")])
    fetch(raft, 2, 3, raft.epoch, now=13.0)
    assert raft.replicas(13.0)[1].last_caught_up_at == 12.0


@pytest.mark.parametrize("by_snapshot", [False, True])
def test_whoever_fetches_keeps_the_leader_in_office(by_snapshot: bool) -> None:
    raft = leader_of(log_of(1), now=10.0)
    if by_snapshot:
        raft.step(SnapshotRequested(1, 2, raft.epoch), 12.0)
    else:
        fetch(raft, 2, 7, 7, now=12.0)
    roles = []
    for now in (14.9, 15.0):
        raft.step(TimePassed(), now)
        roles.append(raft.role)
    assert roles == [Role.LEADER, Role.RESIGNED]


def test_an_observer_keeps_no_leader_in_office() -> None:
    raft = leader_of(log_of(1), now=10.0)
    fetch(raft, 9, 2, raft.epoch, now=12.9)
    raft.step(TimePassed(), 13.0)
    assert raft.role is Role.RESIGNED


def test_pieces_of_snapshots_come_from_the_leader_of_the_epoch() -> None:
    raft = leader_of(log_of(1))
    request = SnapshotRequested(1, 2, raft.epoch - 1)
    assert answer_in(raft.step(request, 10.0)).error is ErrorCode.FENCED_LEADER_EPOCH


def test_the_successor_that_has_most_comes_first() -> None:
    raft = leader_of(log_of(1))
    fetch(raft, 3, 1, 1)
    assert AnnounceEnd(2, raft.epoch, (3, 2)) in raft.step(Resign(), 10.0)
    assert raft.step(TimePassed(), 1000.0) == []
    assert raft.leader_id is None


def test_appends_wait_for_the_leader_change_record() -> None:
    log = log_of(1)
    raft = leader_of(log)
    assert raft.accepts_appends
    log.truncate_to(1)
    assert not raft.accepts_appends
    assert raft.epoch_start_offset == 1
    assert not follower_of(3, log_of(1)).accepts_appends
