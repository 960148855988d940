"""The header of a batch: read, checked, patched."""

from __future__ import annotations

import pytest

from broker.protocol.batch import (
    CONTROL,
    DELETE_HORIZON,
    HEADER_SIZE,
    TRANSACTIONAL,
    CorruptBatchError,
    iterate_headers,
    patch,
    read_header,
    stamp_append_time,
    verify_crc,
)
from broker.protocol.checksum import PIECE_SIZE, crc32c
from broker.protocol.records import Record, build_batch, iterate_records


def batch_of(count: int = 3, *, base: int = 0, attributes: int = 0) -> bytearray:
    records = [Record(base + i, 1000 + i, b"k%d" % i, b"v" * i) for i in range(count)]
    return build_batch(
        records, producer_id=7, producer_epoch=2, base_sequence=5, attributes=attributes
    )


def test_header_fields_come_back_as_they_were_built() -> None:
    header = read_header(memoryview(batch_of(3, base=40, attributes=TRANSACTIONAL)))
    assert (header.base_offset, header.last_offset, header.record_count) == (40, 42, 3)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 2, 5)
    assert (header.base_timestamp, header.max_timestamp) == (1000, 1002)
    assert header.magic == 2
    assert header.is_transactional
    assert not header.is_control
    assert header.delete_horizon_ms is None
    assert header.last_sequence == 7


def test_flags_are_read_from_their_own_bits() -> None:
    header = read_header(batch_of(1, attributes=CONTROL | DELETE_HORIZON))
    assert header.is_control
    assert not header.is_transactional
    assert header.delete_horizon_ms == 1000


def test_sequence_numbers_wrap_to_zero() -> None:
    header = read_header(batch_of(3))._replace(base_sequence=2**31 - 2)
    assert header.last_sequence == 0


def test_patching_offset_and_epoch_leaves_the_crc_true() -> None:
    batch = memoryview(batch_of())
    patch(batch, 0, 12345, 6)
    header = read_header(batch)
    assert (header.base_offset, header.leader_epoch, header.last_offset) == (12345, 6, 12347)
    assert verify_crc(batch, 0, header)


@pytest.mark.parametrize("position", [21, 30, HEADER_SIZE, -1])
def test_a_changed_byte_is_seen_by_the_crc(position: int) -> None:
    batch = memoryview(batch_of())
    batch[position] ^= 1
    assert not verify_crc(batch, 0, read_header(batch))


def test_a_batch_cut_short_has_no_true_crc() -> None:
    batch = memoryview(batch_of())
    assert not verify_crc(batch[:-1], 0, read_header(batch))


def test_append_time_is_the_time_of_every_record() -> None:
    batch = memoryview(batch_of())
    stamp_append_time(batch, 0, 99)
    header = read_header(batch)
    assert header.timestamp_type == 1
    assert verify_crc(batch, 0, header)
    assert [r.timestamp for r in iterate_records(batch, header, max_bytes=1000)] == [99] * 3


def test_headers_are_walked_with_their_positions() -> None:
    first, second = batch_of(2), batch_of(1, base=2)
    view = memoryview(first + second)
    assert [(at, h.base_offset) for at, h in iterate_headers(view)] == [(0, 0), (len(first), 2)]


@pytest.mark.parametrize("cut", [1, 40, HEADER_SIZE + 1])
def test_a_walk_over_a_cut_batch_raises(cut: int) -> None:
    whole = batch_of()
    view = memoryview(whole + whole[:cut])
    with pytest.raises(CorruptBatchError):
        list(iterate_headers(view))


@pytest.mark.parametrize("length", [-(2**31), -12, 0, 48])
def test_an_absurd_length_is_corrupt_and_not_an_endless_walk(length: int) -> None:
    batch = batch_of()
    batch[8:12] = length.to_bytes(4, "big", signed=True)
    with pytest.raises(CorruptBatchError):
        list(iterate_headers(memoryview(batch)))


@pytest.mark.parametrize("size", [0, 9, PIECE_SIZE - 1, PIECE_SIZE, PIECE_SIZE + 1, 100_000])
def test_a_checksum_taken_in_pieces_equals_the_one_of_the_whole(size: int) -> None:
    from google_crc32c import value

    data = bytes(range(256)) * (size // 256 + 1)
    assert crc32c(memoryview(data)[:size]) == value(data[:size])


def test_the_checksum_is_castagnolis() -> None:
    assert crc32c(memoryview(b"123456789")) == 0xE3069283
