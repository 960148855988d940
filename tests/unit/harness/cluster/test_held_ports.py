"""A held port belongs to whoever was told of it, also while nobody listens there."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

import pytest

from harness.cluster.held_ports import LOOPBACK, HeldPorts


@pytest.fixture
def ports() -> Iterator[HeldPorts]:
    held = HeldPorts()
    yield held
    held.release()


async def _serve_once(port: int) -> None:
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        writer.close()

    server = await asyncio.start_server(greet, LOOPBACK, port)
    reader, writer = await asyncio.open_connection(LOOPBACK, port)
    assert await reader.read() == b"hello"
    writer.close()
    await writer.wait_closed()
    server.close()
    await server.wait_closed()


async def test_a_server_listens_on_a_held_port_again_and_again(ports: HeldPorts) -> None:
    port = ports.hold()
    for _ in range(3):
        await _serve_once(port)


def test_while_nobody_listens_a_connection_is_refused(ports: HeldPorts) -> None:
    port = ports.hold()
    for _ in range(100):
        with socket.socket() as client, pytest.raises(ConnectionRefusedError):
            client.connect((LOOPBACK, port))


def test_no_port_is_held_twice_nor_given_to_others(ports: HeldPorts) -> None:
    held = [ports.hold() for _ in range(200)]
    assert len(set(held)) == len(held)
    others = [socket.create_server((LOOPBACK, 0)) for _ in range(200)]
    try:
        assert not {other.getsockname()[1] for other in others} & set(held)
    finally:
        for other in others:
            other.close()


def test_who_does_not_share_cannot_take_it(ports: HeldPorts) -> None:
    port = ports.hold()
    with socket.socket() as stranger, pytest.raises(OSError, match="in use"):
        stranger.bind((LOOPBACK, port))
    ports.release()
    with socket.socket() as stranger:
        stranger.bind((LOOPBACK, port))
