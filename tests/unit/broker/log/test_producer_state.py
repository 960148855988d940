"""Idempotence as Kafka promises it: each rule by itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from broker.log.origin import Origin
from broker.log.producer_state import (
    SEQUENCE_MASK,
    Producer,
    after_data,
    after_marker,
)
from broker.protocol.batch import TRANSACTIONAL, BatchHeader
from broker.protocol.control import EndTransactionMarker
from broker.protocol.errors import ErrorCode, KafkaError

LAST_SEQUENCE = SEQUENCE_MASK


def header(
    sequence: int, *, count: int = 1, epoch: int = 0, transactional: bool = False
) -> BatchHeader:
    return BatchHeader(
        base_offset=0,
        length=100,
        leader_epoch=0,
        magic=2,
        crc=0,
        attributes=TRANSACTIONAL if transactional else 0,
        last_offset_delta=count - 1,
        base_timestamp=5,
        max_timestamp=9,
        producer_id=7,
        producer_epoch=epoch,
        base_sequence=sequence,
        record_count=count,
    )


def write(
    before: Producer | None,
    sequence: int,
    *,
    offset: int = 0,
    count: int = 1,
    epoch: int = 0,
    transactional: bool = False,
    origin: Origin = Origin.CLIENT,
) -> Producer:
    new = header(sequence, count=count, epoch=epoch, transactional=transactional)
    return after_data(before, new, offset, 0, origin)


@contextmanager
def refused(code: ErrorCode) -> Iterator[None]:
    with pytest.raises(KafkaError) as caught:
        yield
    assert caught.value.code is code


def test_sequences_must_follow_each_other() -> None:
    producer = write(None, 0, count=3)
    producer = write(producer, 3, offset=10)
    with refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER):
        write(producer, 5)
    with refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER):
        write(producer, 3)


def test_an_unknown_producer_may_begin_anywhere() -> None:
    assert write(None, 41).last_sequence == 41


def test_the_last_five_batches_are_known_as_duplicates_with_their_first_offsets() -> None:
    producer = None
    for number in range(7):
        producer = write(producer, number * 2, count=2, offset=100 + number * 10)
    assert producer is not None
    for number in range(2, 7):
        found = producer.find_duplicate(header(number * 2, count=2))
        assert found is not None
        assert (found.first_offset, found.last_offset) == (100 + number * 10, 101 + number * 10)
    assert producer.find_duplicate(header(2, count=2)) is None, "older than the window"
    assert producer.find_duplicate(header(12, count=1)) is None, "another batch"
    assert producer.find_duplicate(header(12, count=2, epoch=1)) is None, "another epoch"


def test_the_sequence_after_the_largest_is_zero() -> None:
    producer = write(None, LAST_SEQUENCE - 1, count=2)
    assert producer.last_sequence == LAST_SEQUENCE
    assert write(producer, 0).last_sequence == 0
    over_the_edge = write(None, LAST_SEQUENCE, count=3)
    assert over_the_edge.last_sequence == 1
    assert over_the_edge.find_duplicate(header(LAST_SEQUENCE, count=3)) is not None
    assert write(over_the_edge, 2).last_sequence == 2


def test_a_new_epoch_begins_at_sequence_zero_and_forgets_the_window() -> None:
    producer = write(None, 0)
    with refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER):
        write(producer, 1, epoch=1)
    bumped = write(producer, 0, epoch=1)
    assert bumped.epoch == 1
    assert len(bumped.window) == 1


def test_an_older_epoch_is_fenced() -> None:
    producer = write(None, 0, epoch=3)
    with refused(ErrorCode.INVALID_PRODUCER_EPOCH):
        write(producer, 1, epoch=2)


def test_a_refused_batch_leaves_the_producer_as_it_was() -> None:
    producer = write(None, 0)
    with refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER):
        write(producer, 9)
    assert write(producer, 1).last_sequence == 1


def test_a_coordinator_needs_no_sequences_but_an_epoch() -> None:
    producer = write(None, -1, origin=Origin.COORDINATOR, epoch=4)
    producer = write(producer, -1, origin=Origin.COORDINATOR, epoch=4)
    with refused(ErrorCode.INVALID_PRODUCER_EPOCH):
        write(producer, -1, origin=Origin.COORDINATOR, epoch=3)


def test_a_replica_takes_what_its_leader_took() -> None:
    producer = write(None, 0, epoch=3)
    producer = write(producer, 17, epoch=3, origin=Origin.REPLICA)
    assert producer.last_sequence == 17


def test_the_first_transactional_batch_opens_a_transaction() -> None:
    producer = write(None, 0, offset=50, transactional=True)
    assert producer.txn_first_offset == 50
    producer = write(producer, 1, offset=60, transactional=True)
    assert producer.txn_first_offset == 50


def test_other_batches_are_refused_while_a_transaction_is_open() -> None:
    producer = write(None, 0, transactional=True)
    with refused(ErrorCode.INVALID_TXN_STATE):
        write(producer, 1)


def end(
    before: Producer | None, *, epoch: int = 0, coordinator_epoch: int = 0, committed: bool = True
) -> tuple[Producer, object]:
    marker = EndTransactionMarker(committed, coordinator_epoch)
    return after_marker(before, header(-1, epoch=epoch), marker, 99, 0, Origin.COORDINATOR)


def test_a_marker_ends_the_transaction_and_keeps_the_sequence() -> None:
    producer = write(None, 0, offset=50, transactional=True)
    producer, ended = end(producer, committed=False)
    assert ended == (7, 50, 99, False)
    assert producer.txn_first_offset is None
    assert write(producer, 1, transactional=True).last_sequence == 1


def test_a_marker_without_a_transaction_ends_nothing() -> None:
    producer, ended = end(None)
    assert ended is None
    assert producer.window == ()
    assert write(producer, 0).last_sequence == 0


def test_a_marker_of_a_later_epoch_makes_sequences_begin_anew() -> None:
    producer, _ = end(write(None, 5, transactional=True), epoch=1)
    with refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER):
        write(producer, 6, epoch=1)
    assert write(producer, 0, epoch=1).last_sequence == 0


def test_a_marker_of_an_older_producer_epoch_is_refused() -> None:
    with refused(ErrorCode.INVALID_PRODUCER_EPOCH):
        end(write(None, 0, epoch=2, transactional=True), epoch=1)


def test_a_coordinator_of_an_older_epoch_is_fenced() -> None:
    producer, _ = end(write(None, 0, transactional=True), coordinator_epoch=5)
    with refused(ErrorCode.TRANSACTION_COORDINATOR_FENCED):
        end(producer, coordinator_epoch=4)
