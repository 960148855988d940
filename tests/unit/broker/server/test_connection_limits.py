"""Limits on connections: by listener and in all, changed while clients are connected."""

import asyncio

from broker.metadata.changes import ConfigChanged, ResourceType
from broker.network.interface import Address
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from tests.nodes import Wire, running_node, wait_until

TWO_LISTENERS = {
    "listeners": "INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.1:0",
    "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT",
    "inter.broker.listener.name": "INSIDE",
}


async def set_for_all(node: Node, name: str, value: str | None) -> None:
    change = ConfigChanged(ResourceType.BROKER, "", name, value)
    await node.change(lambda: [change])


async def connected(address: Address) -> Wire:
    """A connection that was served, so that the broker has counted it."""
    client = await Wire.connect(address)
    await client.ask(ApiKey.API_VERSIONS, 0, m.ApiVersionsRequest())
    return client


async def is_refused(address: Address) -> bool:
    client = await Wire.connect(address)
    refused = await client.is_closed()
    await client.close()
    return refused


async def close_all(*clients: Wire) -> None:
    for client in clients:
        await client.close()


async def test_a_lower_limit_closes_the_clients_that_were_silent_longest() -> None:
    async with running_node() as node:
        first, second = await connected(node.advertised), await connected(node.advertised)
        await asyncio.sleep(0.01)
        await first.ask(ApiKey.API_VERSIONS, 0, m.ApiVersionsRequest())
        await set_for_all(node, "max.connections", "1")
        assert await second.is_closed()
        await first.ask(ApiKey.API_VERSIONS, 0, m.ApiVersionsRequest())
        assert await is_refused(node.advertised)
        await set_for_all(node, "max.connections", None)
        third = await connected(node.advertised)
        await close_all(first, second, third)


async def test_the_limit_of_one_address_is_changed_while_the_broker_runs() -> None:
    async with running_node() as node:
        first = await connected(node.advertised)
        await set_for_all(node, "max.connections.per.ip", "1")
        assert await is_refused(node.advertised)
        await set_for_all(node, "max.connections.per.ip.overrides", "127.0.0.1:2")
        await close_all(first, await connected(node.advertised))


async def test_a_listener_has_a_limit_of_its_own() -> None:
    async with running_node(TWO_LISTENERS) as node:
        inside, outside = node.server.bound["INSIDE"], node.server.bound["OUTSIDE"]
        await set_for_all(node, "listener.name.outside.max.connections", "1")
        first = await connected(outside)
        assert await is_refused(outside)
        await close_all(first, await connected(inside))
        await wait_until(lambda: not node.server.connection_count)
        await (await connected(outside)).close()


async def test_another_broker_takes_the_place_of_a_client() -> None:
    async with running_node({**TWO_LISTENERS, "max.connections": "2"}) as node:
        inside, outside = node.server.bound["INSIDE"], node.server.bound["OUTSIDE"]
        broker, client = await connected(inside), await connected(outside)
        assert await is_refused(outside)
        another = await connected(inside)
        assert await client.is_closed()
        # Brokers never take each other's place.
        assert await is_refused(inside)
        await broker.ask(ApiKey.API_VERSIONS, 0, m.ApiVersionsRequest())
        await close_all(broker, client, another)
