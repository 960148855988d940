"""Records, also as two other libraries write and read them."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

import pytest
from aiokafka.record import default_records as aiokafka
from hypothesis import given
from hypothesis import strategies as st

from broker.protocol.batch import CorruptBatchError, read_header, rewrite_crc, verify_crc
from broker.protocol.compression import Codec
from broker.protocol.records import (
    Record,
    build_batch,
    iterate_extents,
    iterate_records,
    pack_records,
    pack_records_in_python,
    record_data,
)
from broker.protocol.varint import append_varint, read_varint

with warnings.catch_warnings():
    # Importing kafka-python on Python 3.11 warns about a function that it should no longer use.
    warnings.simplefilter("ignore")
    from kafka.record import default_records as kafka_python

CODECS = list(Codec)
# kafka-python needs another snappy library than ours to write snappy.
OTHER_LIBRARIES = pytest.mark.parametrize(
    ("library", "codec"),
    [(aiokafka, codec) for codec in CODECS]
    + [(kafka_python, codec) for codec in CODECS if codec is not Codec.SNAPPY],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
EXAMPLES = [
    Record(10, 1_700_000_000_000, b"key", b"value", ((b"h", b"1"), (b"h", None), (b"", b""))),
    Record(11, 1_700_000_000_500, None, b"value"),
    Record(12, 1_699_999_999_000, b"key", None),
    Record(13, 1_700_000_000_000, None, None),
    Record(14, 1_700_000_000_000, b"", b""),
    Record(15, 1_700_000_000_000, b"long", b"z" * 70_000),
]

fields = st.none() | st.binary(max_size=20)
headers = st.lists(st.tuples(st.binary(max_size=5), fields), max_size=3).map(tuple)


@st.composite
def record_lists(draw: st.DrawFn) -> list[Record]:
    base = draw(st.integers(0, 2**62))
    rows = draw(st.lists(st.tuples(st.integers(0, 2**61), fields, fields, headers), max_size=5))
    return [Record(base + i, *row) for i, row in enumerate(rows)]


def read_all(batch: bytes | bytearray, max_bytes: int = 10**6) -> list[Record]:
    view = memoryview(batch)
    header = read_header(view)
    assert verify_crc(view, 0, header)
    return list(iterate_records(view, header, max_bytes=max_bytes))


@pytest.mark.parametrize("codec", CODECS)
@given(records=record_lists())
def test_records_come_back_from_a_batch(codec: Codec, records: list[Record]) -> None:
    assert read_all(build_batch(records, codec=codec)) == records


@given(records=record_lists())
def test_compiled_code_packs_records_as_python_does(records: list[Record]) -> None:
    for offset, timestamp in [(0, 0), (10, 1_700_000_000_000), (-(2**40), -1)]:
        packed = pack_records(records, offset, timestamp)
        assert packed == pack_records_in_python(records, offset, timestamp)


@pytest.mark.parametrize("record", [(1, 2), 3, (1, 2, "text", None, ()), (1, 2, None, None, (3,))])
def test_what_is_no_record_cannot_be_packed(record: Any) -> None:
    with pytest.raises((TypeError, IndexError, AttributeError, SystemError)):
        pack_records([record], 0, 0)


@OTHER_LIBRARIES
def test_batches_of_other_libraries_are_read(library: Any, codec: Codec) -> None:
    builder = library.DefaultRecordBatchBuilder(
        magic=2,
        compression_type=int(codec),
        is_transactional=1,
        producer_id=9,
        producer_epoch=3,
        base_sequence=77,
        batch_size=1_000_000,
    )
    for i, record in enumerate(EXAMPLES):
        text_headers = [(name.decode(), value) for name, value in record.headers]
        appended = builder.append(
            offset=i,
            timestamp=record.timestamp,
            key=record.key,
            value=record.value,
            headers=text_headers,
        )
        assert appended is not None
    batch = bytes(builder.build())
    header = read_header(batch)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 3, 77)
    assert header.is_transactional
    assert header.codec == codec
    assert [r._replace(offset=r.offset + 10) for r in read_all(batch)] == EXAMPLES


@OTHER_LIBRARIES
def test_our_batches_are_read_by_other_libraries(library: Any, codec: Codec) -> None:
    batch = build_batch(EXAMPLES, codec=codec, producer_id=9, producer_epoch=3, base_sequence=77)
    reader = library.DefaultRecordBatch(bytes(batch))
    assert reader.validate_crc()
    assert reader.producer_id == 9
    read = [
        Record(
            r.offset,
            r.timestamp,
            r.key,
            r.value,
            tuple((name.encode(), value) for name, value in r.headers),
        )
        for r in reader
    ]
    assert read == EXAMPLES


@pytest.mark.parametrize("codec", CODECS)
def test_a_bomb_is_corrupt(codec: Codec) -> None:
    batch = memoryview(build_batch([Record(0, 0, None, bytes(100_000))], codec=codec))
    with pytest.raises(CorruptBatchError):
        list(iterate_records(batch, read_header(batch), max_bytes=50_000))


@pytest.mark.parametrize("codec", CODECS)
@given(damage=st.data())
def test_damage_gives_corrupt_batch_errors_only(codec: Codec, damage: st.DataObject) -> None:
    batch = build_batch(EXAMPLES[:5], codec=codec)
    for _ in range(damage.draw(st.integers(1, 4))):
        batch[damage.draw(st.integers(0, len(batch) - 1))] = damage.draw(st.integers(0, 255))
    size = damage.draw(st.integers(0, len(batch)) | st.just(len(batch)))
    view = memoryview(batch)[:size]
    with suppress(CorruptBatchError):
        list(iterate_records(view, read_header(view), max_bytes=10_000))


@pytest.mark.parametrize("count", [-1, 2, 4, 2**31 - 1])
def test_a_wrong_record_count_is_corrupt(count: int) -> None:
    batch = build_batch([Record(i, 0, b"k", b"v") for i in range(3)])
    batch[57:61] = count.to_bytes(4, "big", signed=True)
    rewrite_crc(memoryview(batch), 0)
    with pytest.raises(CorruptBatchError):
        read_all(batch)


def test_an_emptied_batch_keeps_its_bounds() -> None:
    batch = build_batch(
        [],
        base_offset=100,
        last_offset=109,
        base_sequence=4,
        producer_id=1,
        codec=Codec.LZ4,
        max_timestamp=55,
    )
    header = read_header(batch)
    assert (header.base_offset, header.last_offset, header.record_count) == (100, 109, 0)
    assert (header.last_sequence, header.max_timestamp, header.codec) == (13, 55, Codec.NONE)
    assert read_all(batch) == []


def test_a_batch_with_holes_keeps_the_offsets_of_its_records() -> None:
    kept = [EXAMPLES[1], EXAMPLES[3]]
    batch = build_batch(kept, base_offset=10, last_offset=15)
    assert read_header(batch).last_offset == 15
    assert read_all(batch) == kept


@given(st.integers(-(2**63), 2**63 - 1))
def test_varints_come_back(number: int) -> None:
    out = bytearray()
    append_varint(out, number)
    assert read_varint(bytes(out), 0) == (number, len(out))


def test_an_endless_varint_is_corrupt() -> None:
    with pytest.raises(CorruptBatchError):
        read_varint(b"\xff" * 100, 0)


@given(records=record_lists())
def test_extents_tell_the_same_as_the_records(records: list[Record]) -> None:
    batch = memoryview(build_batch(records))
    header = read_header(batch)
    data = record_data(batch, header, max_bytes=10**6)
    extents = list(iterate_extents(data, header.record_count))
    assert [
        (header.base_offset + e.offset_delta, header.base_timestamp + e.timestamp_delta, e.key)
        for e in extents
    ] == [record[:3] for record in records]
    assert [e.has_value for e in extents] == [record.value is not None for record in records]
    assert b"".join(data[e.start : e.end] for e in extents) == data


@given(damage=st.data())
def test_damaged_extents_give_corrupt_batch_errors_only(damage: st.DataObject) -> None:
    batch = memoryview(build_batch(EXAMPLES[:5]))
    data = bytearray(record_data(batch, read_header(batch), max_bytes=10**6))
    for _ in range(damage.draw(st.integers(1, 4))):
        data[damage.draw(st.integers(0, len(data) - 1))] = damage.draw(st.integers(0, 255))
    size = damage.draw(st.integers(0, len(data)) | st.just(len(data)))
    with suppress(CorruptBatchError):
        list(iterate_extents(bytes(data[:size]), 5))
