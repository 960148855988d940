"""Frames have Kafka's headers: which version, and what when the API is not known."""

import tracemalloc
from io import BytesIO

import pytest
from kio.schema.request_header.v1.header import RequestHeader as TheirHeaderV1
from kio.schema.request_header.v2.header import RequestHeader as TheirHeaderV2
from kio.serial import entity_writer
from kio.static.primitive import i16, i32

from broker.protocol import codec
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import MalformedMessageError
from broker.protocol.frames import (
    LENGTH_SIZE,
    RequestHeader,
    decode_request_header,
    decode_response_header,
    request_frame,
    response_frame,
)


@pytest.mark.parametrize("client_id", ["", "me", None])
@pytest.mark.parametrize(("version", "header"), [(8, TheirHeaderV1), (9, TheirHeaderV2)])
def test_a_request_has_the_header_of_its_version(
    version: int, header: type[TheirHeaderV1] | type[TheirHeaderV2], client_id: str | None
) -> None:
    buffer = BytesIO()
    theirs = header(
        request_api_key=i16(3),
        request_api_version=i16(version),
        correlation_id=i32(77),
        client_id=client_id,
    )
    entity_writer(type(theirs))(buffer, theirs)

    body = codec.encode_request(ApiKey.METADATA, version, m.MetadataRequest())
    ours = RequestHeader(api_key=3, api_version=version, correlation_id=77, client_id=client_id)
    frame = b"".join(request_frame(ours, body))
    assert frame[LENGTH_SIZE:] == buffer.getvalue() + body[0]
    assert int.from_bytes(frame[:LENGTH_SIZE], "big") == len(frame) - LENGTH_SIZE

    found, offset = decode_request_header(memoryview(frame)[LENGTH_SIZE:])
    assert found == ours
    assert offset == len(buffer.getvalue())


@pytest.mark.parametrize(("version", "head"), [(8, b"\0\0\0\x4d"), (9, b"\0\0\0\x4d\0")])
def test_a_response_has_the_header_of_its_version(version: int, head: bytes) -> None:
    [frame] = response_frame(ApiKey.METADATA, version, 77, [b"body"])
    assert frame == (len(head) + 4).to_bytes(4, "big") + head + b"body"
    header, offset = decode_response_header(ApiKey.METADATA, version, frame[LENGTH_SIZE:])
    assert (header.correlation_id, offset) == (77, len(head))


def test_the_answer_to_api_versions_never_has_tagged_fields_in_its_header() -> None:
    for version in range(6):
        assert response_frame(ApiKey.API_VERSIONS, version, 1, [])[0] == b"\0\0\0\x04\0\0\0\x01"


@pytest.mark.parametrize(("api_key", "version"), [(18, 99), (0, 0), (0, 2), (4711, 3), (-1, -1)])
def test_the_header_of_an_unknown_api_or_version_can_be_read(api_key: int, version: int) -> None:
    header = RequestHeader(api_key=api_key, api_version=version, correlation_id=5, client_id="me")
    frame = b"".join(request_frame(header, []))
    assert decode_request_header(frame[LENGTH_SIZE:])[0] == header


@pytest.mark.parametrize("frame", [b"", b"\0", b"\0\x03\0\x09", b"\0\x03\0\x09\0\0\0\x01\0\x05me"])
def test_a_header_cut_short_is_malformed(frame: bytes) -> None:
    with pytest.raises(MalformedMessageError):
        decode_request_header(memoryview(frame))


def test_reading_a_header_does_not_copy_the_body() -> None:
    header = RequestHeader(api_key=0, api_version=9, correlation_id=5, client_id="me")
    frame = b"".join(request_frame(header, [bytes(1_000_000)]))
    view = memoryview(frame)[LENGTH_SIZE:]
    tracemalloc.start()
    try:
        decode_request_header(view)
        decode_response_header(0, 9, view)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("version", [0, 9])
def test_a_response_header_cut_short_is_malformed(version: int) -> None:
    whole = response_frame(ApiKey.METADATA, version, 77, [])[0][LENGTH_SIZE:]
    for cut in range(len(whole)):
        with pytest.raises(MalformedMessageError):
            decode_response_header(ApiKey.METADATA, version, whole[:cut])


def test_chunks_that_are_not_bytes_are_left_alone() -> None:
    large = memoryview(bytes(10))
    frame = response_frame(ApiKey.FETCH, 12, 1, [b"head", large, b"tail"])
    assert frame[1] is large
    assert int.from_bytes(frame[0][:LENGTH_SIZE], "big") == sum(map(len, frame)) - LENGTH_SIZE
    assert response_frame(ApiKey.FETCH, 12, 1, [large])[1] is large
