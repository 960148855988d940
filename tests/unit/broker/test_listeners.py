"""Clients are told the address of the listener that they came by."""

import pytest

from broker.network.interface import Address
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from tests.nodes import Wire, running_node

TWO = {
    "listeners": "INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.1:0",
    "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT",
    "inter.broker.listener.name": "INSIDE",
}


async def told(address: Address) -> list[tuple[str, int]]:
    """By each API that tells where a node is."""
    client = await Wire.connect(address)
    try:
        metadata = await client.ask(ApiKey.METADATA, 9, m.MetadataRequest(topics=[]))
        cluster = await client.ask(ApiKey.DESCRIBE_CLUSTER, 1, m.DescribeClusterRequest())
        older = await client.ask(ApiKey.FIND_COORDINATOR, 3, m.FindCoordinatorRequest(key="g"))
        newer = await client.ask(
            ApiKey.FIND_COORDINATOR, 4, m.FindCoordinatorRequest(coordinator_keys=["g"])
        )
    finally:
        await client.close()
    found = [metadata.brokers[0], cluster.brokers[0], older, newer.coordinators[0]]
    return [(each.host, each.port) for each in found]


async def test_each_listener_tells_its_own_address() -> None:
    async with running_node(TWO) as node:
        addresses = [node.addresses[name] for name in ("INSIDE", "OUTSIDE")]
        assert addresses[0].port != addresses[1].port
        for address in addresses:
            assert set(await told(address)) == {address}


@pytest.mark.parametrize(("name", "host"), [("INSIDE", "127.0.0.1"), ("OUTSIDE", "broker.example")])
async def test_each_listener_tells_what_is_advertised_for_it(name: str, host: str) -> None:
    advertised = "INSIDE://127.0.0.1:1234,OUTSIDE://broker.example:4321"
    async with running_node({**TWO, "advertised.listeners": advertised}) as node:
        assert node.addresses[name].host == host
        assert set(await told(bound(node, name))) == {node.addresses[name]}


def bound(node: Node, name: str) -> Address:
    return node.server.bound[name]
