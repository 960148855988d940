"""A follower: what it asks its leader for, and what it does with the answer.

Everything follows from the log as it is. An answer counts only if the follower would ask the same
question again now: so a late or a second answer, or one from before a change of leader, changes
nothing. What the follower drops is decided by epochs alone. Its high watermark is behind what is
committed, and truncating to it would drop acknowledged records (KIP-101).
"""

from __future__ import annotations

from typing import NamedTuple

from broker.protocol.errors import ErrorCode
from broker.replication.fetch_check import Diverging
from broker.replication.log_view import UNDEFINED_EPOCH, LogView

UNKNOWN_OFFSET = -1


class Question(NamedTuple):
    """One partition of a follower's fetch."""

    fetch_offset: int
    last_fetched_epoch: int
    current_leader_epoch: int
    log_start_offset: int


class Answer(NamedTuple):
    """One partition of the leader's reply. OFFSET_OUT_OF_RANGE comes with its log's start."""

    error: int = ErrorCode.NONE
    diverging: Diverging | None = None
    has_records: bool = False
    high_watermark: int = UNKNOWN_OFFSET
    log_start_offset: int = UNKNOWN_OFFSET


class Truncate(NamedTuple):
    """Drops the records from `offset` on, and the epochs that begin there or later.

    At the log's end it drops no record, but the epoch of an own leadership that wrote none.
    """

    offset: int


class StartOver(NamedTuple):
    """Drops everything. Log start, log end and high watermark are `offset` then."""

    offset: int


class AppendRecords(NamedTuple):
    pass


class AdvanceHighWatermark(NamedTuple):
    """Never back, and not beyond the log's end as it is by then."""

    offset: int


class RaiseLogStart(NamedTuple):
    offset: int


class Wait(NamedTuple):
    """Asks again after a pause; if `for_metadata`, not before the metadata has changed."""

    error: int
    for_metadata: bool = False


Effect = Truncate | StartOver | AppendRecords | AdvanceHighWatermark | RaiseLogStart | Wait
"""To be carried out in order. A change of leader waits until all of them are."""


def next_question(log: LogView, leader_epoch: int) -> Question:
    return Question(log.end_offset, log.epochs.latest, leader_epoch, log.start_offset)


def is_current(log: LogView, leader_epoch: int, asked: Question) -> bool:
    """By offset and epoch both: the same offset may hold other records by now."""
    return (
        asked.fetch_offset == log.end_offset
        and asked.last_fetched_epoch == log.epochs.latest
        and asked.current_leader_epoch == leader_epoch
    )


def effects_of(
    log: LogView, leader_epoch: int, asked: Question, answer: Answer
) -> tuple[Effect, ...]:
    if not is_current(log, leader_epoch, asked):
        return ()
    if answer.error != ErrorCode.NONE:
        return (_after_error(log, answer),)
    if answer.diverging is not None:
        # The answer's high watermark speaks of records that this log does not have yet.
        return (_truncation(log, answer.diverging, answer.log_start_offset),)
    effects: list[Effect] = []
    if answer.has_records:
        effects.append(AppendRecords())
    if answer.high_watermark > log.high_watermark:
        effects.append(AdvanceHighWatermark(answer.high_watermark))
    if answer.log_start_offset > log.start_offset:
        effects.append(RaiseLogStart(answer.log_start_offset))
    return tuple(effects)


def _truncation(log: LogView, leader: Diverging, leader_start: int) -> Truncate | StartOver:
    """To where both logs may still be the same. The next fetch tells whether they are."""
    if leader.end_offset <= leader_start and log.start_offset < leader_start:
        # The epoch ended before the leader's log begins, and nobody knows any more where.
        return StartOver(leader_start)
    epoch, end_offset = log.end_offset_for_epoch(leader.epoch)
    offset = leader.end_offset
    if epoch != UNDEFINED_EPOCH:
        # If the leader's epoch is unknown here, this is where the last one before it ends.
        offset = min(offset, end_offset)
    offset = min(offset, log.end_offset)
    if offset < log.start_offset:
        return StartOver(max(offset, leader_start))
    return Truncate(offset)


def _after_error(log: LogView, answer: Answer) -> StartOver | Wait:
    if answer.error == ErrorCode.OFFSET_OUT_OF_RANGE:
        is_empty = log.start_offset == log.end_offset
        if answer.log_start_offset > log.end_offset or (is_empty and answer.log_start_offset >= 0):
            return StartOver(answer.log_start_offset)
        # A log with records learns from epochs where to go on, and never from a range.
        return Wait(answer.error)
    return Wait(answer.error, for_metadata=answer.error == ErrorCode.FENCED_LEADER_EPOCH)
