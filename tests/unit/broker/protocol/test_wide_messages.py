"""Decoders that count elements, and the forms that stop every so often."""

from collections.abc import Generator
from typing import Any, TypeVar

import pytest

from broker.protocol import codec
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import MalformedMessageError, TooManyElementsError
from broker.protocol.primitives import uvarint

Result = TypeVar("Result")
FETCH, METADATA = ApiKey.FETCH, ApiKey.METADATA


def finished(steps: Generator[None, None, Result]) -> tuple[Result, int]:
    """The result, and how often it stopped."""
    stops = 0
    while True:
        try:
            next(steps)
            stops += 1
        except StopIteration as done:
            return done.value, stops


def named(count: int) -> m.MetadataRequest:
    return m.MetadataRequest(topics=[m.MetadataRequestTopic(name=str(n)) for n in range(count)])


def written(key: ApiKey, version: int, body: Any) -> bytes:
    return b"".join(codec.encode_request(key, version, body))


@pytest.mark.parametrize("version", [1, 13])
def test_elements_are_counted_up_to_the_bound_and_not_beyond(version: int) -> None:
    decode = codec.bounded_request_decoder(METADATA, version)
    data = written(METADATA, version, named(500))
    assert decode(data, 0, 500)[0] == named(500)
    with pytest.raises(TooManyElementsError) as refused:
        decode(data, 0, 499)
    assert (refused.value.what, refused.value.count) == ("topics", 500)


def test_nested_arrays_are_counted_together() -> None:
    partitions = [m.FetchPartition(partition=n) for n in range(10)]
    body = m.FetchRequest(topics=[m.FetchTopic(topic="t", partitions=partitions)] * 10)
    data = memoryview(written(FETCH, 12, body))
    decode = codec.sliced_request_decoder(FETCH, 12)
    (found, count), _ = finished(decode(data, 0, 110))
    assert (found, count) == (body, 110)
    with pytest.raises(TooManyElementsError):
        finished(decode(data, 0, 109))


def test_a_count_without_bytes_is_malformed_and_builds_nothing() -> None:
    lie = (2**31 - 1).to_bytes(4, "big") + bytes(10)
    with pytest.raises(MalformedMessageError) as refused:
        codec.bounded_request_decoder(METADATA, 1)(lie, 0, 500)
    assert type(refused.value) is MalformedMessageError


def test_unknown_tags_count_as_elements() -> None:
    body = written(METADATA, 13, m.MetadataRequest(topics=[]))
    tagged = body[:-1] + uvarint(600) + b"\x7f\x00" * 600
    decode = codec.bounded_request_decoder(METADATA, 13)
    assert decode(tagged, 0, 600)[0] == m.MetadataRequest(topics=[])
    with pytest.raises(TooManyElementsError):
        decode(tagged, 0, 599)


def test_a_sliced_decoder_stops_and_finds_the_same() -> None:
    data = written(METADATA, 13, named(1000))
    (found, count), stops = finished(codec.sliced_request_decoder(METADATA, 13)(data, 0, 1000))
    assert (found, count, stops) == (named(1000), 1000, 7)


@pytest.mark.parametrize("version", [1, 13])
def test_a_sliced_encoder_stops_and_writes_the_same(version: int) -> None:
    partitions = [m.MetadataResponsePartition(partition_index=n) for n in range(300)]
    topics = [m.MetadataResponseTopic(name=f"t{n}", partitions=partitions) for n in range(3)]
    body = m.MetadataResponse(topics=topics)
    chunks, stops = finished(codec.sliced_response_encoder(METADATA, version)(body))
    assert b"".join(chunks) == b"".join(codec.encode_response(METADATA, version, body))
    assert stops == 7


def test_a_long_array_in_a_tagged_field_keeps_its_length() -> None:
    endpoints = [m.FetchResponseNodeEndpoint(node_id=n, host="h") for n in range(300)]
    body = m.FetchResponse(responses=[], node_endpoints=endpoints)
    chunks, stops = finished(codec.sliced_response_encoder(FETCH, 17)(body))
    assert b"".join(chunks) == b"".join(codec.encode_response(FETCH, 17, body))
    assert stops == 2


def test_records_stay_chunks_of_their_own_in_slices() -> None:
    records = memoryview(bytes(5000))
    partitions = [m.FetchResponsePartitionData(partition_index=n, records=records) for n in (0, 1)]
    body = m.FetchResponse(responses=[m.FetchableTopicResponse(partitions=partitions)])
    chunks, _ = finished(codec.sliced_response_encoder(FETCH, 17)(body))
    assert sum(chunk is records for chunk in chunks) == 2
    assert b"".join(chunks) == b"".join(codec.encode_response(FETCH, 17, body))
