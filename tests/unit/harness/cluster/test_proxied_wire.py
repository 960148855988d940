"""The proxy of a place: told what to do by a pipe, and gone with its place."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from harness.cluster.local import LocalPlace
from harness.cluster.process_table import is_alive
from harness.cluster.proxied_wire import usual_behind
from harness.cluster.waiting import wait_until
from harness.errors import EnvironmentFailure
from harness.wire.match import Drop, Matcher, MessageFault
from tests.unit.harness.cluster.places import SLEEPS, spawn
from tests.unit.harness.wire.echo_brokers import LOOPBACK, EchoBroker, RawClient, heartbeat

HEARTBEATS = Matcher(api="Heartbeat", client_id="tester")


@asynccontextmanager
async def proxied(directory: Path) -> AsyncIterator[tuple[LocalPlace, EchoBroker, int]]:
    """The place, a broker behind the proxy of n1, and the port at which clients find it."""
    async with LocalPlace(directory, wire=True) as place:
        await place.up(1)
        await spawn(place, SLEEPS)
        broker = EchoBroker()
        server = await asyncio.start_server(
            broker.serve, LOOPBACK, place.port_behind("n1", 9092), reuse_address=True
        )
        yield place, broker, place.port("n1", 9092)
        server.close()


async def connected(port: int) -> RawClient:
    return RawClient(*await asyncio.open_connection(LOOPBACK, port))


def proxy_of_ours() -> list[int]:
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [
        int(pid)
        for pid in children
        if b"proxy_process" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]


async def test_a_fault_is_added_counted_and_healed(tmp_path: Path) -> None:
    async with proxied(tmp_path) as (place, broker, port):
        wire = place.wire
        assert wire is not None
        assert place.why_not("wire") is None
        client = await connected(port)
        assert await client.ask(1) == 1
        await wire.add(MessageFault("second", HEARTBEATS, Drop()))
        assert await wire.hits("second") == 0
        client.send(heartbeat(2))

        async def is_hit() -> bool:
            return await wire.hits("second") == 1

        await wait_until(is_hit, within_s=20, what="the second heartbeat is met")
        await wire.heal()
        await wire.heal()
        other = await connected(port)
        assert await other.ask(3) == 3
        assert await wire.hits("second") == 1
        assert broker.numbers == [1, 3]
        for one in (client, other):
            await one.close()


async def test_a_name_cannot_be_used_twice(tmp_path: Path) -> None:
    async with proxied(tmp_path) as (place, _, _):
        assert place.wire is not None
        fault = MessageFault("again", HEARTBEATS, Drop())
        await place.wire.add(fault)
        with pytest.raises(EnvironmentFailure, match="one of that name before"):
            await place.wire.add(fault)


async def test_the_proxy_goes_with_its_place(tmp_path: Path) -> None:
    async with proxied(tmp_path) as (place, _, port):
        (pid,) = proxy_of_ours()
        client = await connected(port)
        await client.ask(1)
        assert is_alive(pid)
        await place.down()
        assert not is_alive(pid)
        with pytest.raises(EnvironmentFailure, match="not up"):
            await place.wire.hits("x")  # type: ignore[union-attr]
        await client.close()


async def test_a_proxy_that_died_is_told_of(tmp_path: Path) -> None:
    async with proxied(tmp_path) as (place, _, _):
        (pid,) = proxy_of_ours()
        os.kill(pid, 9)
        assert place.wire is not None
        with pytest.raises(EnvironmentFailure, match="has died"):
            await place.wire.hits("x")


async def test_what_is_unknown_is_refused(tmp_path: Path) -> None:
    async with proxied(tmp_path) as (place, _, _):
        assert place.wire is not None
        with pytest.raises(EnvironmentFailure, match="never"):
            await place.wire.hits("never")


def test_only_ports_of_kafka_have_something_before_them() -> None:
    assert [usual_behind(port) for port in (9092, 9093, 22)] == [19092, 19093, 22]


async def test_a_place_without_a_proxy_says_how_to_get_one(tmp_path: Path) -> None:
    async with LocalPlace(tmp_path) as place:
        await place.up(1)
        assert place.wire is None
        assert "wire=True" in (place.why_not("wire") or "")
        assert place.port("n1", 9092) == place.port_behind("n1", 9092)
