"""Markers in the form that Kafka gives them."""

from __future__ import annotations

import pytest

from broker.protocol.batch import CorruptBatchError, read_header
from broker.protocol.control import EndTransactionMarker, build_marker_batch, read_marker
from broker.protocol.records import Record, iterate_records


@pytest.mark.parametrize("committed", [True, False])
def test_a_marker_comes_back_from_its_batch(committed: bool) -> None:
    marker = EndTransactionMarker(committed=committed, coordinator_epoch=12)
    batch = memoryview(
        build_marker_batch(marker, producer_id=5, producer_epoch=1, time_ms=99, base_offset=7)
    )
    header = read_header(batch)
    assert header.is_control
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (5, 1, -1)
    (record,) = iterate_records(batch, header, max_bytes=100)
    assert (record.offset, record.timestamp) == (7, 99)
    assert read_marker(record) == marker


def test_a_commit_marker_has_the_bytes_that_kafka_gives_it() -> None:
    marker = EndTransactionMarker(committed=True, coordinator_epoch=3)
    batch = memoryview(build_marker_batch(marker, producer_id=5, producer_epoch=1, time_ms=0))
    (record,) = iterate_records(batch, read_header(batch), max_bytes=100)
    assert record.key == b"\x00\x00\x00\x01"
    assert record.value == b"\x00\x00\x00\x00\x00\x03"


def test_other_control_records_are_no_markers() -> None:
    assert read_marker(Record(0, 0, b"\x00\x00\x00\x02", b"")) is None


@pytest.mark.parametrize(("key", "value"), [(None, None), (b"\x00", b""), (b"\0\0\0\1", b"\0")])
def test_a_short_control_record_is_corrupt(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(CorruptBatchError):
        read_marker(Record(0, 0, key, value))
