"""What one client writes, every other reads byte for byte."""

from __future__ import annotations

import itertools
import random

import pytest

from tests.clients.conftest import READERS, SPEAKERS, CreateTopic, Speakers
from tests.clients.speaker import CODECS, Codec, Message, without_timestamp

pytestmark = pytest.mark.clients


def messages(seed: int) -> list[Message]:
    """Arbitrary bytes; a zero in front keeps kcat's separators from arising by chance."""
    chance = random.Random(seed)
    return [
        Message(
            b"\0" + chance.randbytes(chance.randrange(300)) * chance.randrange(1, 4),
            key=b"\0" + chance.randbytes(8),
            headers=(("from", b"across"),),
        )
        for _ in range(12)
    ]


@pytest.mark.parametrize(
    "writer",
    [pytest.param(name, marks=[pytest.mark.java] if name == "java" else []) for name in SPEAKERS],
)
@pytest.mark.java
def test_every_reader_sees_the_bytes_of_every_writer(
    speakers: Speakers, create_topic: CreateTopic, writer: str
) -> None:
    topic = create_topic()
    sent: list[Message] = []
    for seed, codec in enumerate(CODECS):
        batch = messages(seed)
        speakers.named(writer).produce(topic, 0, batch, codec=codec)
        sent += batch
    for name in READERS:
        assert without_timestamp(speakers.reader(name).read(topic, 0, len(sent))) == sent, name


@pytest.mark.java
@pytest.mark.parametrize("codec", CODECS)
def test_all_writers_share_one_partition(
    speakers: Speakers, create_topic: CreateTopic, codec: Codec
) -> None:
    topic = create_topic()
    sent: list[Message] = []
    for seed, writer in itertools.product(range(2), SPEAKERS):
        batch = messages(seed)
        speakers.named(writer).produce(topic, 0, batch, codec=codec, idempotent=seed == 1)
        sent += batch
    stored = speakers.reader("confluent-kafka").read(topic, 0, len(sent))
    assert without_timestamp(stored) == sent
    assert [one.offset for one in stored] == list(range(len(sent)))
