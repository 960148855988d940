"""Whatever the bytes are, a decoder gives a message or raises MalformedMessageError."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.protocol import codec, frames
from broker.protocol.errors import MalformedMessageError
from broker.protocol.schema import Message
from broker.protocol.schema_text import schema
from tests.property.message_values import everything_set, in_version

MESSAGES = sorted(schema().messages.values(), key=lambda message: message.name)
ALL_VERSIONS = [(message, version) for message in MESSAGES for version in message.versions]


def valid_bytes(message: Message, version: int) -> bytes:
    value = in_version(message.struct, version, everything_set(message.struct))
    return b"".join(codec.encoder(message.name, version)(value))


def decode(message: Message, version: int, data: bytes) -> Any:
    try:
        value, end = codec.decoder(message.name, version)(memoryview(data), 0)
    except MalformedMessageError:
        return None
    assert end <= len(data)
    return value


@settings(max_examples=400, deadline=None, database=None)
@given(st.sampled_from(ALL_VERSIONS), st.binary(max_size=200))
def test_random_bytes_raise_nothing_else(target: tuple[Message, int], data: bytes) -> None:
    decode(*target, data)


@settings(max_examples=400, deadline=None, database=None)
@given(st.sampled_from(ALL_VERSIONS), st.randoms(use_true_random=False), st.integers(1, 6))
def test_mutated_messages_raise_nothing_else(
    target: tuple[Message, int], chance: random.Random, mutations: int
) -> None:
    message, version = target
    data = bytearray(valid_bytes(message, version))
    for _ in range(mutations):
        position = chance.randrange(len(data) + 1)
        match chance.randrange(4):
            case 0 if position < len(data):
                data[position] = chance.choice((0, 1, 0x7F, 0x80, 0xFE, 0xFF))
            case 1:
                del data[position : position + chance.randrange(1, 5)]
            case 2:
                data[position:position] = chance.randbytes(chance.randrange(1, 5))
            case _:
                data[position : position + 4] = b"\xff\xff\xff\xff"
    decode(message, version, bytes(data))


@settings(max_examples=200, deadline=None, database=None)
@given(st.binary(max_size=60))
def test_random_headers_raise_nothing_else(data: bytes) -> None:
    try:
        _, body = frames.decode_request_header(memoryview(data))
    except MalformedMessageError:
        return
    assert 0 < body <= len(data)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: str(message.name))
def test_a_message_cut_short_is_never_taken_for_a_whole_one(message: Message) -> None:
    for version in message.versions:
        data = valid_bytes(message, version)
        step = max(1, len(data) // 40)
        for cut in {*range(0, len(data), step), len(data) - 1} - {len(data), -1}:
            assert decode(message, version, data[:cut]) is None, (version, cut)
