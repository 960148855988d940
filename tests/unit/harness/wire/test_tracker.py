"""A connection's bytes become messages, and every reply finds its request."""

from __future__ import annotations

import pytest

from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode, MalformedMessageError
from harness.wire.message import UNKNOWN_API, with_length
from harness.wire.tracker import UNANSWERED_MAX, FrameReader
from tests.unit.harness.wire.builders import reply_frame, request_frame, tracker


def heartbeat(correlation_id: int = 1) -> bytes:
    return request_frame(ApiKey.HEARTBEAT, 4, m.HeartbeatRequest(group_id="g"), correlation_id)


def test_frames_are_cut_wherever_the_stream_is() -> None:
    stream = with_length(b"first") + with_length(b"") + with_length(b"third one")
    for step in range(1, len(stream) + 1):
        reader = FrameReader()
        found = [
            frame
            for start in range(0, len(stream), step)
            for frame in reader.feed(stream[start : start + step])
        ]
        assert found == [b"first", b"", b"third one"]
        assert reader.pending_bytes == 0


def test_a_length_that_cannot_be_is_refused() -> None:
    with pytest.raises(MalformedMessageError):
        FrameReader().feed(b"\xff\xff\xff\xff")


def test_a_request_is_read_with_both_ends_of_its_connection() -> None:
    message = tracker().request(heartbeat(7))
    assert (message.direction, message.source, message.target) == ("request", "client", "n1")
    assert (message.api_name, message.api_version, message.correlation_id) == ("Heartbeat", 4, 7)
    assert message.client_id == "tester"
    assert message.body == m.HeartbeatRequest(group_id="g")


def test_a_reply_goes_the_other_way_and_knows_what_it_answers() -> None:
    connection = tracker()
    first = connection.request(heartbeat(1))
    connection.request(heartbeat(2))
    answered = m.HeartbeatResponse(error_code=27)
    message = connection.reply(reply_frame(ApiKey.HEARTBEAT, 4, answered, 1))
    assert (message.direction, message.source, message.target) == ("reply", "n1", "client")
    assert message.request is first
    assert (message.api_key, message.api_version) == (ApiKey.HEARTBEAT, 4)
    assert message.client_id == "tester"
    assert message.body == answered


def test_a_reply_to_nothing_and_bytes_that_are_no_header_are_of_no_known_api() -> None:
    connection = tracker()
    assert connection.reply(b"\x00\x00\x00\x63rest").api_key == UNKNOWN_API
    assert connection.reply(b"").api_key == UNKNOWN_API
    garbled = connection.request(b"\x00")
    assert garbled.api_key == UNKNOWN_API
    assert garbled.body is None
    assert garbled.names.topics == {}


def test_a_body_that_cannot_be_read_is_none() -> None:
    assert tracker().request(heartbeat()[:-5]).body is None


def test_silence_after_acks_0_is_not_waited_for() -> None:
    connection = tracker()
    for acks, expected in ((0, UNKNOWN_API), (1, ApiKey.PRODUCE), (-1, ApiKey.PRODUCE)):
        connection.request(request_frame(ApiKey.PRODUCE, 9, m.ProduceRequest(acks=acks), 3))
        assert connection.reply(b"\x00\x00\x00\x03").api_key == expected


def test_the_reply_to_a_copy_is_surplus() -> None:
    connection = tracker()
    original = connection.request(heartbeat(4))
    connection.copied(original)
    frame = reply_frame(ApiKey.HEARTBEAT, 4, m.HeartbeatResponse(), 4)
    first, second, third = (connection.reply(frame) for _ in range(3))
    assert (first.is_surplus, first.request) == (False, original)
    assert (second.is_surplus, second.request) == (True, original)
    assert (third.is_surplus, third.request) == (False, None)


def test_requests_without_a_reply_do_not_pile_up() -> None:
    connection = tracker()
    for number in range(UNANSWERED_MAX + 1):
        connection.request(heartbeat(number))
    oldest, newest = (
        connection.reply(reply_frame(ApiKey.HEARTBEAT, 4, m.HeartbeatResponse(), number))
        for number in (0, UNANSWERED_MAX)
    )
    assert (oldest.request is None, newest.request is None) == (True, False)


def test_a_refused_version_of_api_versions_is_read_in_version_0() -> None:
    connection = tracker()
    connection.request(request_frame(ApiKey.API_VERSIONS, 4, m.ApiVersionsRequest()))
    refusal = m.ApiVersionsResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION,
        api_keys=[m.ApiVersion(api_key=18, min_version=0, max_version=3)],
    )
    message = connection.reply(reply_frame(ApiKey.API_VERSIONS, 0, refusal))
    assert message.body == refusal
