"""What the proxy's process understands, and what it answers."""

from __future__ import annotations

import asyncio
import socket

import pytest

from harness.cluster.proxy_process import ProxyProcess
from harness.wire.match import MessageFaultError
from tests.unit.harness.wire.echo_brokers import LOOPBACK, EchoBroker, RawClient

FAULT = {"name": "late", "match": {"source": "n7"}, "action": {"kind": "delay", "seconds": 0.0}}


def free_port() -> int:
    with socket.create_server((LOOPBACK, 0)) as held:
        port: int = held.getsockname()[1]
        return port


async def test_it_stands_before_a_broker_until_it_leaves() -> None:
    broker = EchoBroker()
    server = await asyncio.start_server(broker.serve, LOOPBACK, 0)
    behind, front = server.sockets[0].getsockname()[1], free_port()
    process = ProxyProcess()
    door = {"front": [LOOPBACK, front], "behind": [LOOPBACK, behind], "pid": None}
    assert await process.obey({"peers": {LOOPBACK: "n7"}}) == {}
    assert await process.obey({"stand": {"node": "n1", **door}}) == {}
    assert await process.obey({"add": FAULT}) == {}
    client = RawClient(*await asyncio.open_connection(LOOPBACK, front))
    assert await client.ask(1) == 1
    assert await process.obey({"hits": "late"}) == {"hits": 1}
    assert await process.obey({"remove": "late"}) == {}
    assert await client.ask(2) == 2
    assert await process.obey({"leave": "n1"}) == {}
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(LOOPBACK, front)
    await client.close()
    server.close()


async def test_what_it_does_not_understand_is_told() -> None:
    process = ProxyProcess()
    for told in ({"dance": True}, {"hits": "never"}, {"add": {"name": "no action"}}):
        with pytest.raises(MessageFaultError):
            await process.obey(told)
