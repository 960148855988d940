"""A read_committed reader is given committed records and nothing of aborted transactions."""

from __future__ import annotations

from broker.protocol.batch import TRANSACTIONAL
from broker.protocol.control import EndTransactionMarker, build_marker_batch
from broker.protocol.records import Record, build_batch
from harness.native.read_committed import AbortedTransaction, without_aborted
from harness.native.records import read_batches

ONE, OTHER = 1, 2


def data(offset: int, producer_id: int, *, transactional: bool = True) -> bytes:
    attributes = TRANSACTIONAL if transactional else 0
    record = Record(offset, 0, None, b"%d" % offset)
    batch = build_batch([record], producer_id=producer_id, producer_epoch=0, attributes=attributes)
    return bytes(batch)


def marker(offset: int, producer_id: int, *, committed: bool) -> bytes:
    return bytes(
        build_marker_batch(
            EndTransactionMarker(committed, 0),
            producer_id=producer_id,
            producer_epoch=0,
            time_ms=0,
            base_offset=offset,
        )
    )


def offsets(log: list[bytes], *aborted: tuple[int, int]) -> list[int]:
    named = [AbortedTransaction(*each) for each in aborted]
    batches = without_aborted(read_batches(b"".join(log), 0), named)
    assert len(batches) == len(log), "a batch without records is still a batch"
    return [record.offset for batch in batches for record in batch.records]


def test_records_of_an_aborted_transaction_are_left_out_up_to_its_marker() -> None:
    log = [
        data(0, ONE),
        data(1, OTHER),
        data(2, ONE),
        marker(3, ONE, committed=False),
        data(4, ONE),
        marker(5, OTHER, committed=True),
        marker(6, ONE, committed=True),
    ]
    assert offsets(log, (ONE, 0)) == [1, 4]
    assert offsets(log) == [0, 1, 2, 4]


def test_a_transaction_that_began_before_the_fetch_is_left_out() -> None:
    log = [data(5, ONE), marker(6, ONE, committed=False), data(7, ONE)]
    assert offsets(log, (ONE, 2)) == [7]


def test_of_two_aborted_transactions_of_one_producer_both_are_left_out() -> None:
    log = [
        data(0, ONE),
        marker(1, ONE, committed=False),
        data(2, ONE),
        marker(3, ONE, committed=True),
        data(4, ONE),
        marker(5, ONE, committed=False),
    ]
    assert offsets(log, (ONE, 4), (ONE, 0)) == [2]


def test_a_batch_outside_of_transactions_is_never_left_out() -> None:
    assert offsets([data(0, ONE, transactional=False), data(1, ONE)], (ONE, 0)) == [0]
