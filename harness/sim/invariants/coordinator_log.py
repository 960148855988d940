"""The records of one coordinator's partition as its log has them, kept up as the log grows.

A log that was cut, or compacted, is read from its beginning.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from broker.inspect import (
    CoordinatorRecord,
    ProducerIdAndEpoch,
    SeenBatch,
    SeenSegment,
    TransactionEnd,
    read_batches,
)
from broker.protocol.batch import HEADER_SIZE, CorruptBatchError, read_header
from broker.protocol.control import read_marker
from broker.protocol.records import Record, iterate_records
from harness.sim.invariants.base import Key
from harness.sim.invariants.replica import Replica
from harness.sim.invariants.replica_log import Peek
from harness.sim.invariants.step import Step

_BATCH_BYTES_MAX = 1 << 26


class LoggedRecord(NamedTuple):
    offset: int
    key: bytes
    value: bytes | None
    counts_from: int
    """The offset of the record, or of the marker that has committed it."""


class CoordinatorLog:
    def __init__(self) -> None:
        self.readings = 0
        """How often it was read from its beginning."""
        self._begin()

    def _begin(self) -> None:
        self.readings += 1
        self.entries: list[CoordinatorRecord | TransactionEnd] = []
        """Records and markers, in their order."""
        self.records: list[LoggedRecord] = []
        """The records with their offsets, whether they count or not."""
        self.latest: dict[bytes, LoggedRecord] = {}
        """The last record of each key that counts, tombstones too: records of transactions count
        when they are committed."""
        self._staged: dict[int, list[LoggedRecord]] = {}
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
        found, problem = read_batches(segment, position, content)
        if len(content) < segment.size - position:
            problem = f"{segment.path} is shorter than its node says"
        # A compaction replaces files one by one, and then tells of it: the problem of one segment
        # is that of the log, whatever stands in the next.
        self.problem = self.problem or problem
        data = memoryview(content)
        for batch in found:
            start = batch.position - position
            view = data[start : start + batch.size]
            header = read_header(view, 0)
            for each in iterate_records(view, header, max_bytes=_BATCH_BYTES_MAX):
                producer = ProducerIdAndEpoch(header.producer_id, header.producer_epoch)
                if header.is_control:
                    self._take_marker(producer, each)
                else:
                    self._take_record(producer if header.is_transactional else None, each)
            self.end = batch.last_offset + 1
            self._last = batch

    def _take_record(self, producer: ProducerIdAndEpoch | None, record: Record) -> None:
        assert record.key is not None, "a record of a compacted topic has a key"
        self.entries.append(CoordinatorRecord(record.key, record.value, producer))
        logged = LoggedRecord(record.offset, record.key, record.value, record.offset)
        self.records.append(logged)
        if producer is None:
            self.latest[record.key] = logged
        else:
            self._staged.setdefault(producer.producer_id, []).append(logged)

    def _take_marker(self, producer: ProducerIdAndEpoch, record: Record) -> None:
        marker = read_marker(record)
        if marker is None:
            return
        self.entries.append(TransactionEnd(producer, marker))
        for staged in self._staged.pop(producer.producer_id, ()):
            before = self.latest.get(staged.key)
            if marker.committed and (before is None or before.offset < staged.offset):
                self.latest[staged.key] = staged._replace(counts_from=record.offset)


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
