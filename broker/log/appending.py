"""How batches get into a log: checked, numbered, written in one piece, and only then counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from broker.log import validation
from broker.log.origin import Origin
from broker.log.producer_state import WrittenBatch
from broker.log.producer_table import Step
from broker.log.record_check import WorkBudget
from broker.log.recovery import LARGEST_RELATIVE_OFFSET
from broker.log.validation import Checked, CheckedBatch
from broker.protocol.batch import (
    CONTROL,
    HEADER_SIZE,
    PREFIX_SIZE,
    SMALLEST_LENGTH,
    BatchHeader,
    CorruptBatchError,
    patch,
    read_extent,
    read_header,
    verify_crc,
    with_append_time,
)
from broker.protocol.control import EndTransactionMarker
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.log.log import Log

Placed = tuple[BatchHeader, int, EndTransactionMarker | None]
"""A batch, its base offset, and how it ends a transaction, if it does."""


class Appended(NamedTuple):
    base_offset: int
    last_offset: int
    log_append_time_ms: int  # -1 when the topic keeps the producers' timestamps
    log_start_offset: int
    duplicate: bool


def append(
    log: Log,
    records: memoryview,
    leader_epoch: int,
    origin: Origin,
    budget: WorkBudget | None,
    checked: Checked | None,
) -> Appended:
    config = log.config
    now_ms = log.clock.now_ms()
    if checked is None and origin is Origin.CLIENT and log.epochs.latest == leader_epoch:
        plain = validation.plain_header(records, config, now_ms, budget)
        if plain is not None and len(records) <= config.segment_bytes:
            offset = log.end_offset
            _write_led(log, records, leader_epoch, [(plain, offset, None)], [], now_ms)
            return Appended(offset, log.end_offset - 1, -1, log.start_offset, False)
    if checked is None:
        checked = validation.check(records, config, now_ms, origin, budget)
    records, batches = checked
    if len(records) > config.segment_bytes:
        raise KafkaError(
            ErrorCode.RECORD_LIST_TOO_LARGE,
            f"{len(records)} bytes do not fit in a segment of {config.segment_bytes}",
        )
    if leader_epoch < log.epochs.latest:
        raise KafkaError(
            ErrorCode.FENCED_LEADER_EPOCH,
            f"epoch {leader_epoch} is over: epoch {log.epochs.latest} has begun",
        )
    if origin is Origin.CLIENT and batches[0].header.producer_id >= 0:
        duplicate = _find_duplicate(log, batches)
        if duplicate is not None:
            return duplicate
    append_time_ms = now_ms if config.message_timestamp_type == "LogAppendTime" else -1
    first_offset = offset = log.end_offset
    placed: list[Placed] = []
    has_producer = False
    for header, _, marker in batches:
        if append_time_ms >= 0:
            # Part of the producers' next state: a duplicate is answered with this time.
            header = with_append_time(header, append_time_ms)
        placed.append((header, offset, marker))
        offset += header.last_offset_delta + 1
        has_producer = has_producer or header.producer_id >= 0
    steps = log.producers.plan(placed, log.uptime_ms(), origin) if has_producer else []
    if append_time_ms < 0:
        _write_led(log, records, leader_epoch, placed, steps, now_ms)
    else:
        with validation.stamped(records, batches, append_time_ms):
            _write_led(log, records, leader_epoch, placed, steps, now_ms)
    if leader_epoch != log.epochs.latest:
        log.epochs.assign(leader_epoch, first_offset)
    return Appended(first_offset, offset - 1, append_time_ms, log.start_offset, False)


def _find_duplicate(log: Log, batches: list[CheckedBatch]) -> Appended | None:
    """The answer of the first time. Nothing is written when the first batch is known already."""
    header = batches[0].header
    written = log.producers.find_duplicate(header)
    if written is None:
        return None
    if header.is_transactional and _was_aborted(log, header.producer_id, written):
        # A client that did not get the answer of the first time, aborted, and uses the number
        # again. The first offset would look like success for a record that nobody ever reads.
        raise KafkaError(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"sequence {header.base_sequence} of producer {header.producer_id} was written at "
            f"offset {written.first_offset}, and aborted",
        )
    last = written
    for batch in batches[1:]:
        found = log.producers.find_duplicate(batch.header)
        if found is None:
            raise KafkaError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                "a duplicate batch and a new one came together",
            )
        last = found
    is_append_time = log.config.message_timestamp_type == "LogAppendTime"
    return Appended(
        written.first_offset,
        last.last_offset,
        written.timestamp if is_append_time else -1,
        log.start_offset,
        True,
    )


def _was_aborted(log: Log, producer_id: int, written: WrittenBatch) -> bool:
    found = log.aborted_transactions(written.first_offset, written.last_offset + 1)
    return any(
        each.producer_id == producer_id and each.first_offset <= written.first_offset
        for each in found
    )


def append_replicated(log: Log, records: memoryview) -> Appended:
    placed: list[Placed] = []
    end, has_producer = log.end_offset, False
    position, there = 0, len(records)
    try:
        while position + HEADER_SIZE <= there:
            header = read_header(records, position)
            after = position + PREFIX_SIZE + header.length
            if after > there:
                break  # a fetch may end in the middle of a batch
            if not verify_crc(records, position, header):
                raise CorruptBatchError(f"the CRC of the batch at byte {position} does not match")
            base_offset = header.base_offset
            if base_offset < end or header.last_offset_delta < 0:
                raise CorruptBatchError(f"offset {base_offset} follows {end - 1}")
            marker = None
            if header.attributes & CONTROL:
                marker = validation.marker_of(records[position:after], header)
            placed.append((header, base_offset, marker))
            has_producer = has_producer or header.producer_id >= 0
            end = base_offset + header.last_offset_delta + 1
            position = after
    except CorruptBatchError as problem:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(problem)) from None
    if not placed:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "there is no whole batch to append")
    if not _is_within_reach(log, end - 1):
        raise KafkaError(
            ErrorCode.INVALID_RECORD,
            f"offset {end - 1} is too far from {log.active.base_offset}, where the segment begins",
        )
    steps: list[Step] = []
    if has_producer:
        steps = log.producers.plan(placed, log.uptime_ms(), Origin.REPLICA)
    _write(log, records[:position], placed, steps, log.clock.now_ms())
    epochs = log.epochs
    for header, base_offset, _ in placed:
        if header.leader_epoch > epochs.latest:
            epochs.assign(header.leader_epoch, base_offset)
    return Appended(placed[0][1], end - 1, -1, log.start_offset, False)


def fits(log: Log, records: memoryview) -> bool:
    """Whether the active segment can hold the offsets that these batches have already."""
    if not log.active.size:
        return True  # no other segment could, either
    position, there, last_offset = 0, len(records), -1
    while position + HEADER_SIZE <= there:
        base_offset, length, delta = read_extent(records, position)
        if length < SMALLEST_LENGTH:
            return True  # the append will say what is wrong
        position += PREFIX_SIZE + length
        if position <= there:
            last_offset = base_offset + delta
    return _is_within_reach(log, last_offset)


def _is_within_reach(log: Log, offset: int) -> bool:
    return offset - log.active.base_offset <= LARGEST_RELATIVE_OFFSET


def _write_led(
    log: Log,
    records: memoryview,
    leader_epoch: int,
    placed: list[Placed],
    steps: list[Step],
    now_ms: int,
) -> None:
    """Gives the batches, which lie side by side, their offsets and writes them.

    When that fails they are again what the client sent: the caller may check and append them again.
    """
    position = 0
    for header, base_offset, _ in placed:
        patch(records, position, base_offset, leader_epoch)
        position += header.size
    try:
        _write(log, records, placed, steps, now_ms)
    except KafkaError:
        position = 0
        for header, _, _ in placed:
            patch(records, position, header.base_offset, header.leader_epoch)
            position += header.size
        raise


def _write(
    log: Log, records: memoryview, placed: list[Placed], steps: list[Step], now_ms: int
) -> None:
    segment = log.active
    if not segment.size:
        segment.first_append_ms = now_ms
    try:
        segment.file.append((records,))
    except OSError as problem:
        raise log.refuse(problem) from problem
    interval_bytes = log.config.index_interval_bytes
    for header, base_offset, _ in placed:
        segment.note(header, base_offset, interval_bytes)
    log.end_offset = segment.end_offset
    if steps:
        aborted = log.producers.apply(steps)
        if log.producers.has_unstable:
            segment.aborted.entries += aborted
            log.update_first_unstable()
    log.producers.end_offset = segment.end_offset
