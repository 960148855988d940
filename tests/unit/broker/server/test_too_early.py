"""Clients that come before the node can serve them wait, but not without end."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from broker.config.broker import BrokerConfig
from broker.network.interface import Address
from broker.node import Node
from broker.observe.metrics import Metrics
from broker.server.server import Server


class Guest:
    """A connection of which nothing is known but who it is, and whether it is kept."""

    def __init__(self, number: int) -> None:
        self.peer = Address("elsewhere", number)
        self.is_closed = False
        self.is_started = False
        self.unsent_bytes = 0

    def start(self, receiver: object) -> None:
        self.is_started = True

    def close(self) -> None:
        self.is_closed = True


async def server_with(**properties: str) -> Server:
    given = {name.replace("_", "."): value for name, value in properties.items()}
    config = BrokerConfig.of({"node.id": "1", **given})
    return Server(cast("Node", SimpleNamespace(config=config, metrics=Metrics())), {})


def come(server: Server, count: int) -> list[Guest]:
    guests = [Guest(number) for number in range(count)]
    for guest in guests:
        server._accept("PLAINTEXT", cast("Any", guest))
    return guests


@pytest.mark.parametrize(("properties", "kept"), [({"max_connections": "3"}, 3), ({}, 1000)])
async def test_the_oldest_make_room_for_those_who_come(
    properties: dict[str, str], kept: int
) -> None:
    server = await server_with(**properties)
    guests = come(server, 1200)
    assert [guest.is_closed for guest in guests] == [True] * (1200 - kept) + [False] * kept
    server.open()
    assert all(guest.is_started for guest in guests[-kept:])
    await server.close()
    await asyncio.sleep(0)


async def test_those_who_wait_at_the_end_are_sent_away() -> None:
    server = await server_with()
    guests = come(server, 3)
    await server.close()
    assert all(guest.is_closed for guest in guests)
