"""What a compacted log must hold: every batch ever written, and what compactions left of them.

A pass of compaction is judged as a step: from what the log held before it to what it holds now,
each record that is gone must have been allowed to go. Between passes nothing may change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from broker.log.log import Log
from broker.log.producer_state import NO_EPOCH, Producer
from broker.protocol.batch import BatchHeader, iterate_headers
from broker.protocol.records import Record
from tests.property.storage_model import Model, Written, aborted_in, stable_offset, table_of

Aborted = Sequence[tuple[int, int, int]]
"""Producer, first offset, and the offset of the marker."""


@dataclass
class CompactedModel(Model):
    """`batches` are as they were written, even those that are gone: a cut drops them, no pass."""

    left: list[Written] = field(default_factory=list)
    reach: int = 0
    """Below it a pass may have been at work: all of it is synced, decided and replicated."""

    relied_on: int = 0
    """The high watermark of the last pass: no cut goes below it."""

    def add(self, data: bytes) -> None:
        count = len(self.batches)
        super().add(data)
        self.left += self.batches[count:]

    def cut(self, end_offset: int) -> None:
        super().cut(end_offset)
        self.left = [b for b in self.left if b.header.last_offset < end_offset]

    def clear(self, offset: int) -> None:
        super().clear(offset)
        self.left = []
        self.reach = self.relied_on = offset

    def present(self) -> list[Written]:
        return self.left


@dataclass(frozen=True, kw_only=True)
class Pass:
    """One pass over a log, perhaps an interrupted one."""

    reach: int
    now_ms: int
    delete_retention_ms: int

    def check(self, before: Sequence[Written], after: Sequence[Written], aborted: Aborted) -> None:
        originals = {written.header.base_offset: written for written in before}
        for written in after:
            original = originals.get(written.header.base_offset)
            assert original is not None, "a batch came from nowhere"
            self._check_batch(original, written)
        kept = {record.offset for written in after for record in written.records}
        last = last_offsets(self._decided(before), aborted)
        for written in before:
            for record in written.records:
                if record.offset not in kept:
                    assert written.header.last_offset < self.reach, "nobody may touch this yet"
                    assert self._may_go(written, record, before, last, aborted)

    def _decided(self, batches: Iterable[Written]) -> list[Written]:
        return [written for written in batches if written.header.last_offset < self.reach]

    def _check_batch(self, original: Written, written: Written) -> None:
        """Offsets, order and records stay what they were."""
        if written.data == original.data:
            return
        old, new = original.header, written.header
        assert old.last_offset < self.reach
        assert new.last_offset == old.last_offset
        assert new.leader_epoch == old.leader_epoch
        if new.record_count or new.producer_id >= 0:
            assert _identity(new) == _identity(old)
        old_records = {record.offset: record for record in original.records}
        assert all(old_records[record.offset] == record for record in written.records)
        if new.record_count and new.delete_horizon_ms != old.delete_horizon_ms:
            assert old.delete_horizon_ms is None
            assert new.delete_horizon_ms == self.now_ms + self.delete_retention_ms
            assert new.is_control or any(record.value is None for record in written.records)

    def _may_go(
        self,
        written: Written,
        record: Record,
        before: Sequence[Written],
        last: dict[bytes, int],
        aborted: Aborted,
    ) -> bool:
        if written.header.is_control:
            return self._is_expired(written) and not _decides_about(written, before)
        if is_aborted(written.header, aborted):
            return True
        assert record.key is not None
        if record.offset < last[record.key]:
            return True
        return record.value is None and self._is_expired(written)

    def _is_expired(self, written: Written) -> bool:
        horizon_ms = written.header.delete_horizon_ms
        return horizon_ms is not None and horizon_ms <= self.now_ms

    def check_thorough(
        self, before: Sequence[Written], after: Sequence[Written], aborted: Aborted, start: int
    ) -> None:
        """A whole pass, `reach` being what it says it has cleaned, leaves nothing behind."""
        originals = {written.header.base_offset: written for written in before}
        last = last_offsets(self._decided(before), aborted)
        for written in self._decided(after):
            if written.header.is_control:
                continue
            for record in written.records:
                assert not is_aborted(written.header, aborted)
                assert record.key is not None
                if record.offset >= start:
                    assert record.offset == last[record.key]
                    was_expired = self._is_expired(originals[written.header.base_offset])
                    assert record.value is not None or not was_expired


def _identity(header: BatchHeader) -> tuple[object, ...]:
    return (
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.is_control,
        header.is_transactional,
    )


def _decides_about(marker: Written, batches: Iterable[Written]) -> bool:
    """Whether there are data for which a reader needs this marker."""
    decides = False
    for written in batches:
        if written is marker:
            break
        if written.header.producer_id == marker.header.producer_id:
            is_data = written.header.is_transactional and not written.header.is_control
            decides = is_data or (decides and not written.header.is_control)
    return decides


def is_aborted(header: BatchHeader, aborted: Aborted) -> bool:
    return header.is_transactional and any(
        producer_id == header.producer_id and first <= header.base_offset <= last
        for producer_id, first, last in aborted
    )


def last_offsets(batches: Iterable[Written], aborted: Aborted) -> dict[bytes, int]:
    return {
        record.key: record.offset
        for written in batches
        if not written.header.is_control and not is_aborted(written.header, aborted)
        for record in written.records
        if record.key is not None
    }


async def batches_of(log: Log) -> list[Written]:
    """Everything in the files, what lies before the start offset, too."""
    found: list[Written] = []
    for segment in log.segments:
        await segment.file.warm(0, segment.size)
        content = memoryview(segment.file.pread(segment.size, 0))
        for position, header in iterate_headers(content):
            found.append(Written(header, bytes(content[position : position + header.size])))
    bases = [written.header.base_offset for written in found]
    assert all(a < b for a, b in pairwise(bases))
    return found


# What holds whenever one looks


def check_table(log: Log, model: CompactedModel) -> None:
    """Who reads committed records finds the last value of each key, as if nothing were gone."""
    # A crash takes the high watermark back, for a while, to before what was compacted.
    start, up_to = log.start_offset, next(iter(log.producers.open_transactions), log.end_offset)
    found = [entry[:3] for entry in log.aborted_transactions(start, up_to)]
    assert _table(model.left, found, start, up_to) == _table(
        model.batches, aborted_in(model), start, up_to
    )


def _table(batches: Iterable[Written], aborted: Aborted, start: int, up_to: int) -> object:
    table: dict[bytes | None, bytes] = {}
    for written in batches:
        header = written.header
        if header.is_control or header.base_offset >= up_to or is_aborted(header, aborted):
            continue
        for record in written.records:
            if record.offset < start:
                continue
            if record.value is None:
                table.pop(record.key, None)
            else:
                table[record.key] = record.value
    return table


def check_producers(log: Log, model: CompactedModel) -> None:
    """Of each producer the last batch is known; earlier ones may be gone with their records."""
    table = model.table()
    assert log.producers.producers.keys() == table.producers.keys()
    for producer_id, expected in table.producers.items():
        _check_producer(log.producers.producers[producer_id], expected, model)
    assert log.producers.open_transactions == table.open_transactions
    # A crash takes the high watermark back to before what was compacted. A transaction counts as
    # undecided again, and a replay does not find those of its first batches that are gone.
    left = table_of(model.left)
    assert stable_offset(log, table) <= log.last_stable_offset <= stable_offset(log, left)
    _check_aborted(log, model)


def _check_producer(found: Producer, expected: Producer, model: Model) -> None:
    assert found.epoch == expected.epoch
    assert found.txn_first_offset == expected.txn_first_offset
    assert found.coordinator_epoch in (expected.coordinator_epoch, NO_EPOCH)
    written = [
        (b.header.last_sequence, b.header.last_offset, b.header.last_offset_delta)
        for b in model.batches
        if b.header.producer_id == expected.producer_id and not b.header.is_control
    ]
    known = [entry[:3] for entry in found.window]
    assert known[-1:] == written[-1:]
    assert known == [entry for entry in written if entry in known]


def _check_aborted(log: Log, model: CompactedModel) -> None:
    """Readers are told of every aborted transaction of which something is left."""
    aborted = aborted_in(model)
    expected = {(entry[0], entry[2]): entry[1] for entry in aborted}
    found = [entry[:3] for entry in log.aborted_transactions(log.start_offset, log.end_offset)]
    assert len(found) == len(set(found))
    assert all(expected[producer, last] <= first for producer, first, last in found)
    for written in model.between(log.start_offset, log.end_offset):
        if not written.header.is_control and is_aborted(written.header, aborted):
            assert is_aborted(written.header, found)
