"""A reply replaced by an error is the reply that a broker would have sent."""

from __future__ import annotations

from typing import Any

import pytest

from broker.protocol import messages as m
from broker.protocol.apis import API_VERSIONS, ApiKey
from broker.protocol.errors import ErrorCode
from broker.protocol.schema import Struct
from broker.protocol.schema_text import schema
from harness.wire.error_reply import can_carry_error, error_reply
from harness.wire.message import Message
from tests.unit.harness.wire.builders import reply_frame, request_frame, tracker


def filled(struct: Struct, version: int) -> Any:
    """The struct with one element in each list, two in the lists of structs."""
    values: dict[str, Any] = {}
    for field in struct.fields:
        if version in field.versions and field.struct is not None:
            inner = [filled(field.struct, version) for _ in range(2)]
            values[field.name] = inner if field.is_array else inner[0]
    return getattr(m, struct.name)(**values)


def error_codes(value: Any) -> list[int]:
    found: list[int] = []
    for name in value.__slots__:
        field = getattr(value, name)
        if name in ("error_code", "partition_error_code"):
            found.append(field)
        for each in field if isinstance(field, list) else [field]:
            if hasattr(each, "__slots__") and type(each).__module__.endswith("messages"):
                found += error_codes(each)
    return found


def sent(key: ApiKey, version: int, answered: Any) -> Message:
    connection = tracker()
    header = request_frame(ApiKey.HEARTBEAT, 4, m.HeartbeatRequest(), 77)
    # Only the header of the request matters here, so it may be followed by anything.
    asked = int(key).to_bytes(2, "big") + version.to_bytes(2, "big") + header[4:]
    connection.request(asked)
    return connection.reply(reply_frame(key, version, answered, 77))


def reread(reply: Message, frame: bytes) -> Any:
    assert frame[:4] == (77).to_bytes(4, "big")
    again = Message(
        direction="reply",
        source=reply.source,
        target=reply.target,
        connection=reply.connection,
        api_key=reply.api_key,
        api_version=reply.api_version,
        correlation_id=reply.correlation_id,
        client_id=None,
        frame=frame,
    )
    return again.body


@pytest.mark.parametrize("key", API_VERSIONS, ids=lambda key: key.name)
def test_every_error_of_every_version_is_set_and_the_rest_kept(key: ApiKey) -> None:
    first, last = API_VERSIONS[key]
    for version in range(first, last + 1):
        answered = filled(schema().apis[key].response.struct, version)
        reply = sent(key, version, answered)
        assert can_carry_error(reply), version
        replaced = reread(reply, error_reply(reply, ErrorCode.NOT_COORDINATOR))
        codes = error_codes(replaced)
        said = {code for code in codes if code}
        assert said == {ErrorCode.NOT_COORDINATOR}, version
        # The fields that this version does not have were not sent, and read as 0.
        assert len(codes) == len(error_codes(reply.body))
        assert set(error_codes(reply.body)) == {0}, "the message itself must stay as it was"


def test_all_partitions_fail_and_their_records_go() -> None:
    partitions = [
        m.FetchResponsePartitionData(
            partition_index=index, high_watermark=9, records=memoryview(b"records")
        )
        for index in range(2)
    ]
    answered = m.FetchResponse(
        session_id=5, responses=[m.FetchableTopicResponse(topic="t", partitions=partitions)]
    )
    reply = sent(ApiKey.FETCH, 12, answered)
    replaced = reread(reply, error_reply(reply, ErrorCode.NOT_LEADER_OR_FOLLOWER))
    assert replaced.session_id == 5
    for part in replaced.responses[0].partitions:
        assert part.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert (bytes(part.records), part.high_watermark) == (b"", 9)


def test_a_reply_of_which_nothing_is_known_is_left_alone() -> None:
    assert not can_carry_error(tracker().reply(b"\x00\x00\x00\x01rest"))
