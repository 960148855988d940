"""Each client writes in every codec and with every acks level, and each reads it back."""

from __future__ import annotations

import itertools

import pytest

from tests.clients.conftest import CreateTopic
from tests.clients.raw_fetch import stored_codecs
from tests.clients.speaker import (
    ACKS,
    CODECS,
    Acks,
    Codec,
    Message,
    Reader,
    Speaker,
    without_timestamp,
)

pytestmark = pytest.mark.clients

# Compressible, or clients fall back to sending it plain.
MESSAGES = [
    Message(b"%d " % number + b"value " * 40, key=b"key %d" % number) for number in range(20)
]


# Each codec and each acks level with every client; the other pairs only in the slow lane.
USUAL = {
    ("none", "0"),
    ("none", "1"),
    ("none", "all"),
    ("gzip", "0"),
    ("snappy", "all"),
    ("lz4", "1"),
    ("zstd", "all"),
}
PAIRS = [
    pytest.param(codec, acks, marks=() if (codec, acks) in USUAL else pytest.mark.slow)
    for codec, acks in itertools.product(CODECS, ACKS)
]


@pytest.mark.parametrize(("codec", "acks"), PAIRS)
def test_what_a_client_writes_is_stored_in_its_codec_and_read_back(
    speaker: Speaker,
    witness: Reader,
    create_topic: CreateTopic,
    bootstrap: str,
    codec: Codec,
    acks: Acks,
) -> None:
    topic = create_topic()
    speaker.produce(topic, 0, MESSAGES, codec=codec, acks=acks)
    stored = witness.read(topic, 0, len(MESSAGES))
    assert without_timestamp(stored) == MESSAGES
    assert [one.offset for one in stored] == list(range(len(MESSAGES)))
    assert stored_codecs(bootstrap, topic) == {codec}


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_is_read_by_every_client(
    reader: Reader, witness: Reader, create_topic: CreateTopic, codec: Codec
) -> None:
    topic = create_topic()
    witness.produce(topic, 0, MESSAGES, codec=codec)
    assert without_timestamp(reader.read(topic, 0, len(MESSAGES))) == MESSAGES


@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_an_idempotent_producer_is_accepted(
    speaker: Speaker, witness: Reader, create_topic: CreateTopic, codec: Codec
) -> None:
    topic = create_topic()
    speaker.produce(topic, 0, MESSAGES, codec=codec, idempotent=True)
    speaker.produce(topic, 0, MESSAGES, codec=codec, idempotent=True)
    stored = witness.read(topic, 0, 2 * len(MESSAGES))
    assert without_timestamp(stored) == MESSAGES + MESSAGES
    assert witness.bounds(topic, 0) == (0, 2 * len(MESSAGES))
