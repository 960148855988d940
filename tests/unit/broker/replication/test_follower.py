"""A follower decides from its log and the answer, and from nothing else."""

from __future__ import annotations

import pytest

from broker.protocol.errors import ErrorCode
from broker.replication.fetch_check import Diverging
from broker.replication.follower import (
    AdvanceHighWatermark,
    Answer,
    AppendRecords,
    Effect,
    Question,
    RaiseLogStart,
    StartOver,
    Truncate,
    Wait,
    effects_of,
    next_question,
)
from tests.golden.replication.memory_log import MemoryLog, Record

LEADER_EPOCH = 9


def log_of(*epochs: int, start: int = 0, high_watermark: int | None = None) -> MemoryLog:
    """One record for each epoch named."""
    log = MemoryLog()
    log.start_over(start)
    log.append_replicated([Record(epoch, "v") for epoch in epochs])
    log.advance_high_watermark(start if high_watermark is None else high_watermark)
    return log


def after(log: MemoryLog, answer: Answer) -> tuple[Effect, ...]:
    return effects_of(log, LEADER_EPOCH, next_question(log, LEADER_EPOCH), answer)


def test_it_asks_from_its_end() -> None:
    assert next_question(log_of(1, 1, 3, start=4), LEADER_EPOCH) == Question(7, 3, LEADER_EPOCH, 4)
    assert next_question(log_of(), LEADER_EPOCH) == Question(0, -1, LEADER_EPOCH, 0)


def test_records_come_before_the_high_watermark_and_that_before_the_log_start() -> None:
    answer = Answer(has_records=True, high_watermark=4, log_start_offset=2)
    assert after(log_of(1, 1, 1), answer) == (
        AppendRecords(),
        AdvanceHighWatermark(4),
        RaiseLogStart(2),
    )


def test_nothing_new_is_nothing_to_do() -> None:
    log = log_of(1, 1, start=2, high_watermark=3)
    assert after(log, Answer(high_watermark=3, log_start_offset=2)) == ()
    assert after(log, Answer(high_watermark=2, log_start_offset=0)) == ()


@pytest.mark.parametrize(
    ("epochs", "diverging", "offset"),
    [
        ((1, 1, 1), Diverging(1, 2), 2),  # the leader has less of the epoch
        ((1, 1, 3), Diverging(1, 5), 2),  # the leader has more, and never had epoch 3
        ((1, 3, 5), Diverging(4, 9), 2),  # the leader's epoch is unknown here
        ((1, 3, 5), Diverging(4, 1), 1),
        ((5, 5, 5), Diverging(4, 2), 0),  # nothing is as old as that here
        ((1, 1, 1), Diverging(1, 0), 0),
    ],
)
def test_it_truncates_by_epochs(epochs: tuple[int, ...], diverging: Diverging, offset: int) -> None:
    log = log_of(*epochs, high_watermark=1)
    # The answer's high watermark is not for a log that has to be cut off.
    answer = Answer(diverging=diverging, high_watermark=3, log_start_offset=0)
    assert after(log, answer) == (Truncate(offset),)


def test_an_own_epoch_without_records_is_truncated_as_well() -> None:
    log = log_of(1, 1)
    log.epochs.assign(7, 2)
    assert after(log, Answer(diverging=Diverging(1, 5))) == (Truncate(2),)
    log.truncate_to(2)
    assert next_question(log, LEADER_EPOCH).last_fetched_epoch == 1


def test_a_cut_before_its_start_is_a_new_start() -> None:
    log = log_of(5, 5, start=10)
    assert after(log, Answer(diverging=Diverging(4, 7), log_start_offset=3)) == (StartOver(7),)
    assert after(log, Answer(diverging=Diverging(4, 2), log_start_offset=3)) == (StartOver(3),)


def test_what_lies_before_the_leaders_start_cannot_be_compared() -> None:
    answer = Answer(diverging=Diverging(1, 2), log_start_offset=2)
    assert after(log_of(1, 1, 1), answer) == (StartOver(2),)


def test_out_of_range_is_a_new_start_where_the_leader_begins() -> None:
    answer = Answer(ErrorCode.OFFSET_OUT_OF_RANGE, log_start_offset=8)
    assert after(log_of(1, 1), answer) == (StartOver(8),)
    # An empty log has nothing to lose, wherever it is.
    assert after(log_of(start=20), answer) == (StartOver(8),)


@pytest.mark.parametrize("leader_start", [-1, 0, 2])
def test_a_log_with_records_is_not_thrown_away_for_a_range(leader_start: int) -> None:
    answer = Answer(ErrorCode.OFFSET_OUT_OF_RANGE, log_start_offset=leader_start)
    assert after(log_of(1, 1), answer) == (Wait(ErrorCode.OFFSET_OUT_OF_RANGE),)


@pytest.mark.parametrize(
    ("error", "for_metadata"),
    [
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, False),
        (ErrorCode.UNKNOWN_LEADER_EPOCH, False),
        (ErrorCode.FENCED_LEADER_EPOCH, True),
        (ErrorCode.STALE_BROKER_EPOCH, False),
        (ErrorCode.KAFKA_STORAGE_ERROR, False),
    ],
)
def test_an_error_moves_nothing(error: ErrorCode, for_metadata: bool) -> None:
    answer = Answer(error, diverging=Diverging(0, 0), high_watermark=9, log_start_offset=9)
    assert after(log_of(1, 1), answer) == (Wait(error, for_metadata),)


@pytest.mark.parametrize(
    "changed",
    [{"fetch_offset": 1}, {"last_fetched_epoch": 0}, {"current_leader_epoch": 8}],
    ids=lambda changed: next(iter(changed)),
)
@pytest.mark.parametrize(
    "answer",
    [
        Answer(has_records=True, high_watermark=9),
        Answer(diverging=Diverging(0, 0)),
        Answer(ErrorCode.OFFSET_OUT_OF_RANGE, log_start_offset=50),
    ],
    ids=["records", "diverging", "out of range"],
)
def test_an_answer_to_another_question_changes_nothing(
    changed: dict[str, int], answer: Answer
) -> None:
    log = log_of(1, 1)
    asked = next_question(log, LEADER_EPOCH)._replace(**changed)
    assert effects_of(log, LEADER_EPOCH, asked, answer) == ()
