"""Records of `__consumer_offsets` are those of Apache Kafka, byte for byte.

`capture_records.py` made the fixture, by running Apache Kafka.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from broker.groups import records
from broker.protocol import messages as m
from broker.protocol.errors import MalformedMessageError

FIXTURE = Path(__file__).with_name("kafka_records.txt")

# Printed by Kafka 4.3.1's own class: a classic member of a group of the consumer protocol.
CLASSIC_MEMBER = bytes.fromhex(
    "000001010263032f6802027401ffffffff08756e69666f726d0100110100000005020672616e67650301020000"
)


def written_by_kafka() -> Iterator[tuple[bytes, bytes | None]]:
    for line in FIXTURE.read_text().splitlines()[1:]:
        key, value = line.split()
        yield bytes.fromhex(key), None if value == "-" else bytes.fromhex(value)


def test_what_kafka_wrote_is_read_and_written_again_the_same() -> None:
    kinds = set()
    for key, value in written_by_kafka():
        kind, decoded_key = records.decode_key(key)
        decoded = None if value is None else records.decode_value(kind, value)
        again = records.record(decoded_key, decoded)
        assert (again.key, again.value) == (key, value)
        kinds.add((kind, value is None))
    with_values = {kind for kind, is_tombstone in kinds if not is_tombstone}
    assert with_values == {1, 2, 3, 5, 6, 7, 8, 16}
    assert {kind for kind, is_tombstone in kinds if is_tombstone} == {*with_values, 4}


def test_an_offset_says_what_it_belongs_to() -> None:
    offsets = [
        records.decode_value(kind, value)
        for key, value in written_by_kafka()
        if value is not None and (kind := records.decode_key(key)[0]) == records.OFFSET_COMMIT
    ]
    plain, with_expiry = offsets[-2:]
    assert (plain.offset, plain.leader_epoch, plain.metadata) == (7, 0, "nöte")
    assert plain.expire_timestamp == -1
    assert any(plain.topic_id)
    # The older form has room for the expiry, and for neither the epoch nor the topic's id.
    assert with_expiry.expire_timestamp == with_expiry.commit_timestamp + 1000
    assert (with_expiry.leader_epoch, with_expiry.topic_id) == (-1, bytes(16))


def test_a_classic_member_of_a_consumer_group() -> None:
    value = records.decode_value(records.CONSUMER_GROUP_MEMBER_METADATA, CLASSIC_MEMBER)
    assert value.classic_member_metadata == m.ClassicMemberMetadata(
        session_timeout_ms=5,
        supported_protocols=[m.ClassicProtocol(name="range", metadata=b"\x01\x02")],
    )
    assert records.encode_value(value, 0) == CLASSIC_MEMBER


def test_kinds_and_versions_of_the_future_are_told_apart_from_damage() -> None:
    key = records.encode_key(m.GroupMetadataKey(group="g"))
    with pytest.raises(records.UnknownRecordError, match="kind 99"):
        records.decode_key(b"\x00\x63" + key[2:])
    with pytest.raises(records.UnknownRecordError, match="no version 9"):
        records.decode_value(records.GROUP_METADATA, b"\x00\x09")
    for damaged in (b"", b"\x00", key[:-1]):
        with pytest.raises(MalformedMessageError):
            records.decode_key(damaged)
