"""What a fetch gets: a slice of one segment's file, cut where a batch ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.disk.interface import ColdReadError, FileSlice
from broker.log.segment import Segment, failed_read
from broker.log.txn_index import AbortedTransaction
from broker.protocol.batch import CorruptBatchError
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.log.log import Log


def read(log: Log, offset: int, max_bytes: int, up_to: int, at_least_one: bool) -> FileSlice | None:
    log.check_online()
    if not log.start_offset <= offset <= log.end_offset:
        raise KafkaError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"offset {offset} is outside of {log.start_offset} to {log.end_offset}",
        )
    if offset >= up_to:
        return None
    try:
        number = log.segment_number(offset)
        segment = log.segment_at(number)
        while segment is not None and segment.base_offset < up_to:
            start = segment.locate(offset)
            end = segment.locate(up_to)
            if start < end:
                return _cut(segment, start, end, max_bytes, at_least_one)
            if segment.damage is not None:
                # Or the reader would be sent over lost records without a word, or wait for ever.
                raise KafkaError(ErrorCode.CORRUPT_MESSAGE, segment.damage)
            # Compaction may have emptied the end of a segment.
            number += 1
            segment = log.segment_at(number)
    except ColdReadError as cold:
        raise ColdLogError(log, cold) from None
    except OSError as problem:
        failure = failed_read(problem)
        raise log.fail(failure) from failure
    except CorruptBatchError as problem:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(problem)) from problem
    return None


class ColdLogError(ColdReadError):
    """A read of a log met cold bytes. Whatever `warm` meets, the next read tells."""

    def __init__(self, log: Log, cold: ColdReadError) -> None:
        super().__init__(cold.file, cold.position, cold.length)
        self._log = log

    async def warm(self) -> None:
        try:
            await super().warm()
        except OSError as problem:
            # A file that left the log meanwhile may be closed already: that is no failure.
            if any(segment.file is self.file for segment in self._log.segments):
                self._log.fail(failed_read(problem))


def _cut(segment: Segment, start: int, end: int, max_bytes: int, at_least_one: bool) -> FileSlice:
    if end - start > max_bytes:
        boundary = segment.offsets.boundary(start + max_bytes)
        if boundary > start:
            end = boundary
        else:
            first = segment.header_at(start).size
            if first <= max_bytes:
                end = start + max_bytes
            else:
                end = start + first if at_least_one else start
    length = end - start
    if not segment.file.is_hot(start, length):
        raise ColdReadError(segment.file, start, length)
    return segment.file.slice(start, length)


def aborted_transactions(log: Log, first: int, up_to: int) -> list[AbortedTransaction]:
    """Those that touch [first, up_to). A marker may stand in a later segment than its data."""
    log.check_online()
    found: list[AbortedTransaction] = []
    for segment in log.segments[log.segment_number(first) :]:
        if segment.aborted.collect(first, up_to, found):
            break
    return found
