"""What a follower asks for, and what it makes of the answers."""

from __future__ import annotations

from math import inf

import pytest

from broker.protocol.errors import ErrorCode
from broker.raft.effects import (
    AppendFetched,
    Effect,
    FetchSnapshot,
    HighWatermarkAdvanced,
    InstallSnapshot,
    TruncateTo,
)
from broker.raft.errors import BrokenRuleError
from broker.raft.events import (
    EpochEnd,
    FetchAnswer,
    FetchAnswered,
    FetchFailed,
    FetchPosition,
    LogFlushed,
    QuorumState,
    SnapshotFailed,
    SnapshotFetched,
    SnapshotId,
    SnapshotProgressed,
    SnapshotSource,
    TimePassed,
)
from broker.raft.machine import Raft
from broker.raft.roles import Role
from tests.unit.broker.raft.builders import follower_of, log_of, member
from tests.unit.broker.raft.memory_log import MemoryLog, Record

EPOCH = 5
LEADER = 3


def take(
    raft: Raft, answer: FetchAnswer, *, has_records: bool = False, now: float = 11.0
) -> list[Effect]:
    """The answer to what the follower asks now."""
    position = raft.fetch_position
    assert position is not None
    return raft.step(FetchAnswered(position, answer, has_records), now)


def test_it_asks_for_what_follows_its_log() -> None:
    raft = follower_of(LEADER, log_of(1, 4))
    assert raft.fetch_position == FetchPosition(LEADER, EPOCH, offset=2, last_epoch=4)


def test_it_asks_for_nothing_before_it_has_flushed() -> None:
    log = log_of(1)
    raft = follower_of(LEADER, log)
    log.append([Record(4, "r")])
    assert raft.fetch_position is None
    log.flush()
    assert raft.fetch_position == FetchPosition(LEADER, EPOCH, offset=2, last_epoch=4)


def test_the_high_watermark_follows_what_is_on_disk() -> None:
    log = log_of(1)
    raft = follower_of(LEADER, log)
    assert take(raft, FetchAnswer(EPOCH, LEADER, 3), has_records=True) == [AppendFetched(1)]
    log.append([Record(4, "r"), Record(4, "r"), Record(4, "r")])
    assert raft.step(LogFlushed(), 11.0) == [HighWatermarkAdvanced(1)]
    log.flush()
    assert raft.step(LogFlushed(), 11.0) == [HighWatermarkAdvanced(3)]


def test_the_high_watermark_does_not_go_back() -> None:
    raft = follower_of(LEADER, log_of(1, 1, 1))
    assert take(raft, FetchAnswer(EPOCH, LEADER, 2)) == [HighWatermarkAdvanced(2)]
    assert take(raft, FetchAnswer(EPOCH, LEADER, 1)) == []
    assert raft.high_watermark == 2


@pytest.mark.parametrize(
    ("theirs", "point"),
    [
        (EpochEnd(3, 3), 3),
        (EpochEnd(3, 9), 4),
        (EpochEnd(2, 9), 2),
        (EpochEnd(1, 1), 1),
        (EpochEnd(0, 0), 0),
    ],
    ids=str,
)
def test_the_log_is_cut_where_both_agree(theirs: EpochEnd, point: int) -> None:
    raft = follower_of(LEADER, log_of(1, 1, 3, 3, 4))
    answer = FetchAnswer(EPOCH, LEADER, 9, diverging=theirs)
    assert take(raft, answer) == [TruncateTo(point)]
    assert raft.high_watermark == 0


def test_a_committed_record_is_not_cut_off() -> None:
    raft = follower_of(LEADER, log_of(1, 1, 3))
    take(raft, FetchAnswer(EPOCH, LEADER, 2))
    with pytest.raises(BrokenRuleError, match="cut to 1, but all below 2 is committed"):
        take(raft, FetchAnswer(EPOCH, LEADER, 9, diverging=EpochEnd(1, 1)))


def test_a_leader_that_contradicts_itself_is_not_followed_in_circles() -> None:
    raft = follower_of(LEADER, log_of(1, 1))
    with pytest.raises(BrokenRuleError, match="ends there at 2"):
        take(raft, FetchAnswer(EPOCH, LEADER, 9, diverging=EpochEnd(1, 7)))


@pytest.mark.parametrize(
    "answer",
    [
        FetchAnswer(EPOCH - 1, LEADER, 9),
        FetchAnswer(EPOCH, 2, 9),
        FetchAnswer(EPOCH, None, 9),
        FetchAnswer(EPOCH, LEADER, error=ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
    ids=["earlier epoch", "another leader", "no leader", "error"],
)
def test_an_answer_that_does_not_fit_is_no_sign_of_life(answer: FetchAnswer) -> None:
    raft = follower_of(LEADER, log_of(1), now=10.0)
    wake_at = raft.wake_at
    assert take(raft, answer, has_records=True) == []
    assert (raft.wake_at, raft.high_watermark) == (wake_at, 0)


def test_an_answer_to_another_position_changes_nothing_but_may_name_a_later_epoch() -> None:
    raft = follower_of(LEADER, log_of(1), now=10.0)
    old = FetchPosition(LEADER, EPOCH, offset=0, last_epoch=0)
    late = FetchAnswer(EPOCH, LEADER, 1)
    assert raft.step(FetchAnswered(old, late, has_records=True), 11.0) == []
    raft.step(FetchAnswered(old, FetchAnswer(8, 2), has_records=False), 11.0)
    assert (raft.role, raft.epoch, raft.leader_id) == (Role.FOLLOWER, 8, 2)


@pytest.mark.parametrize("resigned", [False, True])
def test_a_leader_known_to_be_gone_is_not_waited_for(resigned: bool) -> None:
    raft = follower_of(LEADER, log_of(1), now=10.0)
    position = raft.fetch_position
    assert position is not None
    if resigned:
        take(raft, FetchAnswer(EPOCH, None, error=ErrorCode.NOT_LEADER_OR_FOLLOWER))
    else:
        raft.step(FetchFailed(position, refused=True), 11.0)
    assert raft.wake_at == 11.0
    raft.step(TimePassed(), 11.0)
    assert raft.role is Role.PROSPECTIVE


def test_a_fetch_that_timed_out_says_nothing_of_the_leader() -> None:
    raft = follower_of(LEADER, log_of(1), now=10.0)
    position = raft.fetch_position
    assert position is not None
    raft.step(FetchFailed(position, refused=False), 11.0)
    assert raft.wake_at == 12.0


def test_an_observer_asks_one_voter_after_the_other() -> None:
    raft = member(9)
    asked = []
    for _ in range(4):
        position = raft.fetch_position
        assert position is not None
        asked.append(position.to)
        raft.step(FetchFailed(position, refused=False), 1.0)
    assert asked == [1, 2, 3, 1]


def test_an_observer_leaves_a_silent_leader_and_comes_back_to_it() -> None:
    raft = member(9, state=QuorumState(EPOCH, None, LEADER))
    raft.step(TimePassed(), 2.0)
    assert (raft.role, raft.wake_at) == (Role.UNATTACHED, inf)
    take(raft, FetchAnswer(EPOCH, LEADER, error=ErrorCode.NOT_LEADER_OR_FOLLOWER))
    assert (raft.role, raft.leader_id) == (Role.FOLLOWER, LEADER)


SNAPSHOT = SnapshotId(10, 4)
SOURCE = SnapshotSource(LEADER, EPOCH, SNAPSHOT)


def fetching_a_snapshot() -> tuple[Raft, MemoryLog]:
    log = log_of(1)
    raft = follower_of(LEADER, log, now=10.0)
    answer = FetchAnswer(EPOCH, LEADER, 12, snapshot_id=SNAPSHOT)
    assert take(raft, answer) == [FetchSnapshot(SOURCE)]
    assert raft.fetch_position is None
    return raft, log


def test_a_snapshot_takes_the_place_of_the_log() -> None:
    raft, log = fetching_a_snapshot()
    effects = raft.step(SnapshotFetched(SOURCE), 12.0)
    assert effects == [InstallSnapshot(SNAPSHOT), HighWatermarkAdvanced(10)]
    log.install_snapshot(SNAPSHOT)
    assert raft.fetch_position == FetchPosition(LEADER, EPOCH, offset=10, last_epoch=4)


def test_each_piece_of_a_snapshot_is_a_sign_of_life() -> None:
    raft, _ = fetching_a_snapshot()
    raft.step(SnapshotProgressed(SOURCE), 12.5)
    assert raft.wake_at == 14.5


def test_a_snapshot_that_failed_is_asked_for_anew() -> None:
    raft, _ = fetching_a_snapshot()
    raft.step(SnapshotFailed(SOURCE), 12.0)
    assert raft.fetch_position is not None
    assert raft.step(SnapshotFetched(SOURCE), 12.0) == []


def test_a_snapshot_of_less_than_what_is_committed_is_refused() -> None:
    raft = follower_of(LEADER, log_of(1, 1, 3))
    take(raft, FetchAnswer(EPOCH, LEADER, 2))
    with pytest.raises(BrokenRuleError, match="snapshot that ends at 2"):
        take(raft, FetchAnswer(EPOCH, LEADER, 9, snapshot_id=SnapshotId(2, 1)))
