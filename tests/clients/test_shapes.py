"""Messages and topics of unusual shape: large, null, with headers, many partitions."""

from __future__ import annotations

import random

import pytest

from tests.clients.conftest import CreateTopic
from tests.clients.speaker import Message, Reader, Speaker, without_timestamp

pytestmark = pytest.mark.clients

LARGE_TOPIC = {"max.message.bytes": "15000000"}
ODD_SHAPES = [
    Message(b"no key"),
    Message(b"with key", key=b"key"),
    Message(None, key=b"tombstone"),
    Message(b"after", key=b"key", headers=(("trace", b"first"), ("trace", b"second"))),
    Message(b"other header", headers=(("content-type", b"text/plain"),)),
]


def test_nulls_and_headers_come_back_as_sent(
    speaker: Speaker, witness: Reader, create_topic: CreateTopic
) -> None:
    topic = create_topic()
    speaker.produce(topic, 0, ODD_SHAPES)
    assert without_timestamp(witness.read(topic, 0, len(ODD_SHAPES))) == ODD_SHAPES


def test_nulls_and_headers_are_understood_by_every_reader(
    reader: Reader, witness: Reader, create_topic: CreateTopic
) -> None:
    topic = create_topic()
    witness.produce(topic, 0, ODD_SHAPES)
    assert without_timestamp(reader.read(topic, 0, len(ODD_SHAPES))) == ODD_SHAPES


def test_a_large_message_comes_back_byte_for_byte(
    speaker: Speaker, witness: Reader, create_topic: CreateTopic
) -> None:
    # Random bytes but no separator of kcat's, and large enough to arrive in many reads.
    large = Message(random.Random(1).randbytes(5_000_000), key=b"large")
    topic = create_topic(config=LARGE_TOPIC)
    speaker.produce(topic, 0, [Message(b"small"), large, Message(b"small again")])
    stored = witness.read(topic, 0, 3)
    assert without_timestamp(stored) == [Message(b"small"), large, Message(b"small again")]


def test_a_large_message_is_read_by_every_reader(
    reader: Reader, witness: Reader, create_topic: CreateTopic
) -> None:
    large = Message(random.Random(2).randbytes(5_000_000))
    topic = create_topic(config=LARGE_TOPIC)
    witness.produce(topic, 0, [large])
    assert without_timestamp(reader.read(topic, 0, 1)) == [large]


def test_a_message_above_the_limit_of_its_topic_is_refused(
    witness: Reader, create_topic: CreateTopic
) -> None:
    topic = create_topic(config={"max.message.bytes": "2000"})
    with pytest.raises(AssertionError, match="MSG_SIZE_TOO_LARGE"):
        witness.produce(topic, 0, [Message(random.Random(3).randbytes(5000))])
    assert witness.bounds(topic, 0) == (0, 0)


def test_many_partitions_keep_their_messages_apart(
    speaker: Speaker, witness: Reader, create_topic: CreateTopic
) -> None:
    topic = create_topic(partitions=12)
    for partition in (0, 5, 11):
        speaker.produce(topic, partition, [Message(b"to %d" % partition)])
    for partition in range(12):
        expected = 1 if partition in (0, 5, 11) else 0
        assert witness.bounds(topic, partition) == (0, expected)
    assert without_timestamp(witness.read(topic, 11, 1)) == [Message(b"to 11")]
