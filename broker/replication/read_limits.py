"""Up to where a log may be read, and by whom."""

from __future__ import annotations

from enum import Enum, auto

from broker.protocol.errors import ErrorCode
from broker.replication.log_view import LogView


class Reader(Enum):
    FOLLOWER = auto()
    UNCOMMITTED = auto()
    """A consumer that also reads open and aborted transactions, but nothing unreplicated."""
    COMMITTED = auto()


def read_limit(log: LogView, reader: Reader) -> int:
    """Exclusive. The same for a leader and for a follower that is read from (KIP-392).

    A follower's own high watermark is the limit there: its log may still be cut off above it.
    """
    if reader is Reader.FOLLOWER:
        return log.end_offset
    if reader is Reader.COMMITTED:
        return min(log.last_stable_offset, log.high_watermark)
    return log.high_watermark


def check_position(log: LogView, offset: int, *, is_leader: bool) -> ErrorCode:
    """Whether a consumer may wait at this offset for what comes.

    Between the high watermark and the end there is nothing to send yet, but the consumer may have
    been there before: the last leader's mark was ahead of the new one's.
    """
    if offset < log.start_offset:
        return ErrorCode.OFFSET_OUT_OF_RANGE
    if offset <= log.end_offset:
        return ErrorCode.NONE
    # A follower may be behind what the consumer has seen. Out of range would reset its position.
    return ErrorCode.OFFSET_OUT_OF_RANGE if is_leader else ErrorCode.OFFSET_NOT_AVAILABLE


def check_latest(log: LogView, epoch_start_offset: int, reader: Reader) -> ErrorCode:
    """Whether a leader can tell the latest offset: not below one that clients may have seen.

    The same answer goes to a question by timestamp that finds nothing below the read limit.
    """
    if reader is not Reader.FOLLOWER and log.high_watermark < epoch_start_offset:
        return ErrorCode.OFFSET_NOT_AVAILABLE
    return ErrorCode.NONE
