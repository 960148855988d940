"""What survives a compaction, rule by rule."""

from __future__ import annotations

import pytest

from broker.log.compaction_keys import LastOffsets
from broker.log.compaction_rules import IfEmpty, Rules
from broker.log.compaction_transactions import TransactionsSeen
from broker.log.producer_state import Producer, WrittenBatch
from broker.log.txn_index import AbortedTransaction
from broker.protocol.batch import CONTROL, DELETE_HORIZON, TRANSACTIONAL, BatchHeader
from broker.protocol.control import EndTransactionMarker
from broker.protocol.records import RecordExtent

NOW_MS = 1_000_000
COMMIT = EndTransactionMarker(True, 0)
ABORT = EndTransactionMarker(False, 0)


def header(
    base: int,
    *,
    count: int = 1,
    producer_id: int = -1,
    epoch: int = 0,
    attributes: int = 0,
    horizon_ms: int | None = None,
) -> BatchHeader:
    flags = attributes | (DELETE_HORIZON if horizon_ms is not None else 0)
    time_ms = 0 if horizon_ms is None else horizon_ms
    return BatchHeader(
        base, 49, 0, 2, 0, flags, max(count, 1) - 1, time_ms, 0, producer_id, epoch, -1, count
    )


def marker(base: int, producer_id: int, *, horizon_ms: int | None = None) -> BatchHeader:
    flags = CONTROL | TRANSACTIONAL
    return header(base, producer_id=producer_id, attributes=flags, horizon_ms=horizon_ms)


def data(base: int, producer_id: int, count: int = 1) -> BatchHeader:
    return header(base, producer_id=producer_id, attributes=TRANSACTIONAL, count=count)


def record(key: bytes | None, *, delta: int = 0, has_value: bool = True) -> RecordExtent:
    return RecordExtent(0, 0, 0, 0, 0, delta, key, has_value)


def rules(
    last: dict[bytes, int] | None = None,
    *,
    latest: int = 100,
    aborted: tuple[AbortedTransaction, ...] = (),
    producers: tuple[Producer, ...] = (),
    removable_below: int = 1000,
) -> Rules:
    keys = LastOffsets(100)
    for key, offset in (last or {}).items():
        keys.put(key, offset)
    keys.latest = latest
    return Rules(
        keys=keys,
        transactions=TransactionsSeen(aborted),
        producers={producer.producer_id: producer for producer in producers},
        now_ms=NOW_MS,
        delete_retention_ms=500,
        removable_below=removable_below,
    )


def producer(producer_id: int, last_offset: int | None) -> Producer:
    window = () if last_offset is None else (WrittenBatch(0, last_offset, 0, 0),)
    return Producer(producer_id, 0, window, -1, 0, None, 0)


def test_only_the_last_record_of_a_key_is_kept() -> None:
    subject = rules({b"k": 10})
    assert not subject.keeps_record(header(9), record(b"k"))
    assert subject.keeps_record(header(10), record(b"k"))
    assert not subject.keeps_record(header(8, count=3), record(b"k", delta=1))
    assert subject.keeps_record(header(8, count=3), record(b"k", delta=2))
    assert subject.keeps_record(header(3), record(b"not in the dirty part"))


def test_long_keys_are_told_apart() -> None:
    subject = rules({b"k" * 100: 10, b"k" * 99 + b"j": 3})
    assert not subject.keeps_record(header(5), record(b"k" * 100))
    assert subject.keeps_record(header(5), record(b"k" * 99 + b"j"))


def test_nothing_is_dropped_behind_the_last_offset_that_was_looked_at() -> None:
    subject = rules({b"k": 10}, latest=20)
    assert subject.keeps_record(header(21), record(None))
    assert not subject.keeps_record(header(20), record(None))


@pytest.mark.parametrize(
    ("horizon_ms", "is_kept"), [(None, True), (NOW_MS + 1, True), (NOW_MS, False)]
)
def test_a_tombstone_is_kept_until_its_horizon(horizon_ms: int | None, is_kept: bool) -> None:
    batch = header(5, horizon_ms=horizon_ms)
    assert rules().keeps_record(batch, record(b"k", has_value=False)) == is_kept
    assert rules().keeps_record(batch, record(b"k"))


def test_a_tombstone_that_a_replica_may_lack_is_kept_however_old() -> None:
    batch = header(5, horizon_ms=NOW_MS - 10**6)
    tombstone = record(b"k", has_value=False)
    assert rules(removable_below=5).keeps_record(batch, tombstone)
    assert not rules(removable_below=6).keeps_record(batch, tombstone)


def test_the_clock_of_a_tombstone_starts_once_and_only_when_its_batch_is_clean() -> None:
    subject = rules(latest=10)

    def horizon(batch: BatchHeader, *, has_tombstones: bool = True) -> int | None:
        return subject.new_horizon_ms(batch, has_tombstones=has_tombstones, is_spent_marker=False)

    assert horizon(header(10)) == NOW_MS + 500
    assert horizon(header(10), has_tombstones=False) is None
    assert horizon(header(10, count=2)) is None
    assert horizon(header(3, horizon_ms=7)) is None


def test_a_marker_is_spent_when_no_batch_of_its_transaction_is_left() -> None:
    subject = rules()
    subject.judge(data(1, producer_id=1), None, ends_segment=False)
    assert not subject.judge(marker(2, 1), COMMIT, ends_segment=False).is_spent_marker
    assert subject.judge(marker(3, 1), COMMIT, ends_segment=False).is_spent_marker
    assert subject.judge(marker(4, 2), ABORT, ends_segment=False).is_spent_marker


def test_an_aborted_batch_keeps_nothing_and_its_marker_stays_in_the_index() -> None:
    aborted = AbortedTransaction(1, 5, 9, 10)
    subject = rules(aborted=(aborted, aborted))
    assert subject.judge(data(4, 1), None, ends_segment=False).keeps_records
    assert not subject.judge(data(5, 1), None, ends_segment=False).keeps_records
    assert subject.judge(data(6, 2), None, ends_segment=False).keeps_records
    verdict = subject.judge(marker(9, 1), ABORT, ends_segment=False)
    assert verdict.aborted == aborted
    assert not verdict.is_spent_marker
    assert subject.judge(data(10, 1), None, ends_segment=False).keeps_records


def test_a_spent_marker_goes_when_its_horizon_is_past() -> None:
    subject = rules()
    waiting = subject.judge(marker(3, 1, horizon_ms=NOW_MS + 1), COMMIT, ends_segment=False)
    assert waiting.keeps_records
    gone = subject.judge(marker(4, 1, horizon_ms=NOW_MS), COMMIT, ends_segment=False)
    assert not gone.keeps_records
    assert gone.if_empty is IfEmpty.DROP


def test_a_marker_that_tells_the_epoch_of_its_producer_is_not_emptied() -> None:
    subject = rules(producers=(producer(1, None),))
    batch = marker(4, 1, horizon_ms=NOW_MS)
    assert subject.judge(batch, COMMIT, ends_segment=False).keeps_records


def test_a_batch_without_records_is_kept_for_its_sequence_or_for_its_offset() -> None:
    subject = rules(producers=(producer(1, 7),))

    def if_empty(batch: BatchHeader, *, ends_segment: bool = False) -> IfEmpty:
        return subject.judge(batch, None, ends_segment=ends_segment).if_empty

    assert if_empty(header(7, producer_id=1)) is IfEmpty.KEEP_PRODUCER
    assert if_empty(header(6, producer_id=1)) is IfEmpty.DROP
    assert if_empty(header(7, producer_id=2)) is IfEmpty.DROP
    assert if_empty(header(7, producer_id=2), ends_segment=True) is IfEmpty.KEEP_OFFSET
    assert if_empty(header(7, producer_id=1), ends_segment=True) is IfEmpty.KEEP_PRODUCER


def test_control_records_of_other_kinds_are_kept() -> None:
    assert rules().judge(marker(3, -1), None, ends_segment=False).keeps_records
