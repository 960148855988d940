"""What a log holds, as plain values: its segments, its batches, and whose they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from broker.log.producer_state import SEQUENCE_MASK, Producer
from broker.log.segment import Segment
from broker.log.validation import marker_of
from broker.protocol.batch import MAGIC, CorruptBatchError, iterate_headers, verify_crc
from broker.protocol.control import EndTransactionMarker


class SeenBatch(NamedTuple):
    """Where it lies is told, too, so that a later look can go on behind it."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    crc: int
    segment: int  # its base offset
    position: int
    size: int
    producer_id: int = -1
    producer_epoch: int = -1
    last_sequence: int = -1
    is_transactional: bool = False
    is_control: bool = False
    marker: EndTransactionMarker | None = None
    """Of a control batch that ends a transaction."""

    @property
    def first_sequence(self) -> int:
        count = self.last_offset - self.base_offset
        return -1 if self.last_sequence < 0 else (self.last_sequence - count) & SEQUENCE_MASK


class SeenSegment(NamedTuple):
    base_offset: int
    log_dir: str
    path: str
    size: int


class SeenProducer(NamedTuple):
    """What a partition remembers of one producer."""

    epoch: int
    written: tuple[tuple[int, int], ...]
    """Last sequence and last offset of its last batches, oldest first."""
    txn_first_offset: int | None


def seen_segments(live: Sequence[Segment], log_dir: str) -> tuple[SeenSegment, ...]:
    return tuple(SeenSegment(each.base_offset, log_dir, each.file.path, each.size) for each in live)


def seen_producer(producer: Producer) -> SeenProducer:
    return SeenProducer(
        producer.epoch,
        tuple((each.last_sequence, each.last_offset) for each in producer.window),
        producer.txn_first_offset,
    )


def read_batches(
    segment: SeenSegment, position: int, content: bytes
) -> tuple[list[SeenBatch], str | None]:
    """What stands in the segment's bytes from `position` on, and why it cannot be read further."""
    found: list[SeenBatch] = []
    view = memoryview(content)
    try:
        for at, header in iterate_headers(view):
            if header.magic != MAGIC:
                return found, f"no batch at byte {position + at}"
            if not verify_crc(view, at, header):
                return found, f"the CRC of the batch at byte {position + at} does not match"
            found.append(
                SeenBatch(
                    header.base_offset,
                    header.last_offset,
                    header.leader_epoch,
                    header.crc,
                    segment.base_offset,
                    position + at,
                    header.size,
                    header.producer_id,
                    header.producer_epoch,
                    header.last_sequence,
                    header.is_transactional,
                    header.is_control,
                    marker_of(view[at : at + header.size], header) if header.is_control else None,
                )
            )
    except CorruptBatchError as problem:
        return found, str(problem)
    return found, None
