"""The codec's promises beyond the bytes: bounds, views, chunks, what it refuses."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sized

import pytest

from broker.protocol import codec
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import MalformedMessageError, UnsupportedVersionError

PRODUCE = ApiKey.PRODUCE
FETCH = ApiKey.FETCH


class Slice:
    """Stands for bytes in a file: has a length and nothing else."""

    def __init__(self, length: int) -> None:
        self._length = length

    def __len__(self) -> int:
        return self._length


def produce_request(records: bytes) -> m.ProduceRequest:
    partition = m.PartitionProduceData(index=3, records=records)
    return m.ProduceRequest(
        acks=1, topic_data=[m.TopicProduceData(name="t", partition_data=[partition])]
    )


def fetch_response(*slices: Sized | None) -> m.FetchResponse:
    partitions = [
        m.FetchResponsePartitionData(partition_index=index, records=records)
        for index, records in enumerate(slices)
    ]
    return m.FetchResponse(responses=[m.FetchableTopicResponse(topic="t", partitions=partitions)])


def test_records_are_a_view_into_the_frame() -> None:
    frame = bytearray(b"".join(codec.encode_request(PRODUCE, 9, produce_request(b"r" * 5000))))
    request, end = codec.decode_request(PRODUCE, 9, memoryview(frame), 0)
    records = request.topic_data[0].partition_data[0].records
    records[0:1] = b"R"
    assert end == len(frame)
    assert isinstance(records, memoryview)
    assert frame.count(b"R") == 1


@pytest.mark.parametrize("version", [4, 11, 12, 18])
def test_a_slice_of_a_file_stays_a_chunk_of_its_own(version: int) -> None:
    first, second = Slice(2_000_000), Slice(1)
    chunks = codec.encode_response(FETCH, version, fetch_response(first, None, second))
    assert [chunk for chunk in chunks if isinstance(chunk, Slice)] == [first, second]

    in_memory = fetch_response(bytes(2_000_000), None, bytes(1))
    assert sum(map(len, chunks)) == sum(map(len, codec.encode_response(FETCH, version, in_memory)))


def test_large_records_are_not_copied_and_small_ones_are_joined() -> None:
    large, small = bytes(100_000), bytes(100)
    assert codec.encode_response(FETCH, 12, fetch_response(large))[1] is large
    assert len(codec.encode_response(FETCH, 12, fetch_response(small, small))) == 1


def test_empty_records_are_not_null() -> None:
    [data] = codec.encode_response(FETCH, 12, fetch_response(b"", None, Slice(0)))
    response, _ = codec.decode_response(FETCH, 12, memoryview(data), 0)
    records = [partition.records for partition in response.responses[0].partitions]
    assert [None if found is None else bytes(found) for found in records] == [b"", None, b""]


@pytest.mark.parametrize(
    ("version", "count"), [(8, b"\x7f\xff\xff\xff"), (9, b"\xff\xff\xff\xff\x0f")]
)
def test_an_absurd_count_is_refused_before_anything_is_allocated(
    version: int, count: bytes
) -> None:
    [data] = codec.encode_request(PRODUCE, version, m.ProduceRequest())
    empty = b"\0\0\0\0" if version == 8 else b"\x01\0"
    assert data.endswith(empty)
    absurd = data.removesuffix(empty) + count + bytes(1000)
    codec.request_decoder(PRODUCE, version)
    tracemalloc.start()
    try:
        with pytest.raises(MalformedMessageError, match="topic_data"):
            codec.decode_request(PRODUCE, version, memoryview(absurd), 0)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("length", [b"\xff\xfe", b"\x80\x00", b"\x7f\xff"])
def test_a_string_of_absurd_length_is_refused(length: bytes) -> None:
    with pytest.raises(MalformedMessageError):
        codec.decode_request(PRODUCE, 8, memoryview(length + bytes(50)), 0)


@pytest.mark.parametrize("version", [0, 1])
def test_a_compact_string_is_not_longer_than_any_other(version: int) -> None:
    key = ApiKey.CONSUMER_GROUP_HEARTBEAT

    def decoded(length: int) -> str:
        request = m.ConsumerGroupHeartbeatRequest(group_id="g" * length, member_id="m")
        data = b"".join(codec.encode_request(key, version, request))
        group_id: str = codec.decode_request(key, version, memoryview(data), 0)[0].group_id
        return group_id

    assert len(decoded(32_767)) == 32_767
    with pytest.raises(MalformedMessageError, match="group_id"):
        decoded(32_768)


def test_a_string_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(MalformedMessageError):
        codec.decode_request(PRODUCE, 8, memoryview(b"\0\2\xff\xff" + bytes(10)), 0)


def test_null_where_null_is_not_allowed_is_refused() -> None:
    [data] = codec.encode_request(FETCH, 12, m.FetchRequest())
    with pytest.raises(MalformedMessageError, match="rack_id"):
        codec.decode_request(FETCH, 12, memoryview(data[:-2] + b"\0\0"), 0)


def test_a_varint_that_does_not_end_is_refused() -> None:
    with pytest.raises(MalformedMessageError, match="varint"):
        codec.decode_request(PRODUCE, 9, memoryview(b"\x80" * 20), 0)


def test_unknown_tagged_fields_are_skipped() -> None:
    [data] = codec.encode_request(FETCH, 12, m.FetchRequest(cluster_id="c", rack_id="r"))
    assert data.endswith(b"\x01\x00\x02\x02c")
    newer = data.removesuffix(b"\x01\x00\x02\x02c") + b"\x02\x00\x02\x02c\x7f\x03new"
    request, end = codec.decode_request(FETCH, 12, memoryview(newer), 0)
    assert (request.cluster_id, request.rack_id, end) == ("c", "r", len(newer))


def test_a_tagged_field_of_the_wrong_size_is_refused() -> None:
    [data] = codec.encode_request(FETCH, 12, m.FetchRequest(cluster_id="c"))
    lying = data.removesuffix(b"\x01\x00\x02\x02c") + b"\x01\x00\x03\x02c\0"
    with pytest.raises(MalformedMessageError, match="tagged field"):
        codec.decode_request(FETCH, 12, memoryview(lying), 0)


def test_a_tagged_struct_with_only_defaults_is_not_sent() -> None:
    partition = m.FetchResponsePartitionData(
        current_leader=m.FetchResponseLeaderIdAndEpoch(leader_id=-1, leader_epoch=-1)
    )
    topic = m.FetchableTopicResponse(topic="t", partitions=[partition])
    explicit = codec.encode_response(FETCH, 12, m.FetchResponse(responses=[topic]))
    partition.current_leader = None
    assert explicit == codec.encode_response(FETCH, 12, m.FetchResponse(responses=[topic]))


def test_bytes_after_a_request_are_refused_when_it_must_be_whole() -> None:
    [data] = codec.encode_request(PRODUCE, 9, m.ProduceRequest())
    assert codec.decode_whole_request(PRODUCE, 9, data, 0) == m.ProduceRequest()
    with pytest.raises(MalformedMessageError, match="1 bytes left after ProduceRequest v9"):
        codec.decode_whole_request(PRODUCE, 9, data + b"\0", 0)


@pytest.mark.parametrize(("api_key", "version"), [(0, 2), (0, 14), (99, 0), (-1, 0), (4, 0)])
def test_what_the_codec_does_not_know_is_unsupported(api_key: int, version: int) -> None:
    with pytest.raises(UnsupportedVersionError):
        codec.decode_request(api_key, version, b"", 0)


def test_a_compiled_function_is_kept() -> None:
    assert codec.request_decoder(1, 12) is codec.request_decoder(1, 12)
    assert codec.response_encoder(1, 12) is codec.response_encoder(1, 12)


@pytest.mark.parametrize("count", [0, 15, 16, 126, 127, 128, 20_000])
@pytest.mark.parametrize("version", [8, 9])
def test_arrays_of_any_length_come_back(version: int, count: int) -> None:
    sent = m.MetadataResponse(
        brokers=[m.MetadataResponseBroker(host="h" * count if count < 1000 else "h")],
        topics=[
            m.MetadataResponseTopic(
                name="t", partitions=[m.MetadataResponsePartition(isr_nodes=list(range(count)))]
            )
        ],
    )
    [data] = codec.encode_response(ApiKey.METADATA, version, sent)
    assert codec.decode_response(ApiKey.METADATA, version, data, 0) == (sent, len(data))
