"""The records of one coordinator's partition as its log has them, kept up as the log grows.

A record of a transaction counts from its COMMIT marker on, and never after an ABORT marker. Of two
records of one key the later one in the log counts, wherever their markers stand. A log that was
cut, or compacted, is read from its beginning.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from broker.inspect import SeenBatch, SeenSegment, read_batches
from broker.protocol.batch import HEADER_SIZE, CorruptBatchError, read_header
from broker.protocol.control import EndTransactionMarker, read_marker
from broker.protocol.records import iterate_records
from harness.sim.invariants.base import Key
from harness.sim.invariants.replica import Replica
from harness.sim.invariants.replica_log import Peek
from harness.sim.invariants.step import Step

_BATCH_BYTES_MAX = 1 << 26


class LoggedProducer(NamedTuple):
    producer_id: int
    epoch: int


class LoggedRecord(NamedTuple):
    offset: int
    key: bytes
    value: bytes | None
    producer: LoggedProducer | None = None
    """Of the transaction that it is part of."""
    counts_from: int = -1
    """Offset of the record or marker by which it counts."""


class LoggedEnd(NamedTuple):
    """A marker."""

    producer: LoggedProducer
    marker: EndTransactionMarker


class CoordinatorLog:
    def __init__(self) -> None:
        self.readings = 0
        """How often it was read from its beginning."""
        self._begin()

    def _begin(self) -> None:
        self.readings += 1
        self.records: list[LoggedRecord | LoggedEnd] = []
        self.latest: dict[bytes, LoggedRecord] = {}
        """The last record of each key that counts, tombstones too."""
        self.pending: dict[int, dict[bytes, LoggedRecord]] = {}
        """By producer and key, what open transactions have written."""
        self.end = 0
        self.problem: str | None = None
        self._sizes: dict[tuple[int, str], int] = {}
        self._last: SeenBatch | None = None

    def look(self, segments: Sequence[SeenSegment], peek: Peek) -> None:
        """Reads what is new."""
        if not self._only_grew(segments, peek):
            self._begin()
        for segment in segments:
            place = (segment.base_offset, segment.path)
            read = self._sizes.get(place, 0)
            if segment.size > read:
                content = peek(segment, read, segment.size - read)
                self._take(segment, read, content)
            self._sizes[place] = segment.size

    def _only_grew(self, segments: Sequence[SeenSegment], peek: Peek) -> bool:
        sizes = {(each.base_offset, each.path): each.size for each in segments}
        if self.problem is not None:
            return False  # what stands there may have been replaced by as many bytes
        if any(sizes.get(place, -1) < size for place, size in self._sizes.items()):
            return False
        if self._last is None:
            return True
        [segment] = [each for each in segments if each.base_offset == self._last.segment]
        head = peek(segment, self._last.position, HEADER_SIZE)
        try:
            return read_header(memoryview(head), 0).crc == self._last.crc
        except CorruptBatchError:
            return False  # a power loss has left other bytes there, or none

    def _take(self, segment: SeenSegment, position: int, content: bytes) -> None:
        found, self.problem = read_batches(segment, position, content)
        data = memoryview(content)
        for batch in found:
            start = batch.position - position
            view = data[start : start + batch.size]
            self._take_batch(view)
            self.end = batch.last_offset + 1
            self._last = batch

    def _take_batch(self, view: memoryview) -> None:
        header = read_header(view, 0)
        producer = None
        if header.is_transactional:
            producer = LoggedProducer(header.producer_id, header.producer_epoch)
        for each in iterate_records(view, header, max_bytes=_BATCH_BYTES_MAX):
            if header.is_control:
                marker = read_marker(each)
                if marker is not None and producer is not None:
                    self.records.append(LoggedEnd(producer, marker))
                    self._end(producer.producer_id, each.offset, committed=marker.committed)
                continue
            assert each.key is not None, "a record of a compacted topic has a key"
            record = LoggedRecord(each.offset, each.key, each.value, producer, each.offset)
            self.records.append(record)
            if producer is None:
                self._count(record)
            else:
                self.pending.setdefault(producer.producer_id, {})[each.key] = record

    def _end(self, producer_id: int, offset: int, *, committed: bool) -> None:
        for record in self.pending.pop(producer_id, {}).values():
            found = self.latest.get(record.key)
            if committed and (found is None or found.offset < record.offset):
                self._count(record._replace(counts_from=offset))

    def _count(self, record: LoggedRecord) -> None:
        self.latest[record.key] = record
        if record.value is None:
            # What is deleted is deleted in open transactions, too.
            for staged in self.pending.values():
                staged.pop(record.key, None)


class CoordinatorLogs:
    """Of all replicas that one invariant has looked at, each in one life of its node."""

    def __init__(self) -> None:
        self._logs: dict[tuple[str, int, Key], CoordinatorLog] = {}

    def of(self, step: Step, replica: Replica) -> CoordinatorLog:
        """As the log is now."""
        place = (replica.node, replica.life, replica.key)
        log = self._logs.setdefault(place, CoordinatorLog())
        log.look(replica.segments, partial(step.scene.peek, replica.node))
        return log
