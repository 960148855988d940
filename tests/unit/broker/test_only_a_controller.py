"""A node that is only a controller: it decides by what the image says, and holds nothing itself."""

from __future__ import annotations

from broker.config.broker import BrokerConfig
from broker.disk.memory import MemoryDisk
from broker.metadata.changes import ConfigChanged, ResourceType
from broker.network.interface import Address
from broker.node import Node
from tests.nodes import wait_until
from tests.unit.broker.api.nodes import running_node
from tests.unit.broker.api.other_brokers import let_in
from tests.unit.broker.quorum.metadata import topic

PROPERTIES = {
    "process.roles": "controller",
    "listeners": "CONTROLLER://localhost:9093",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "1@localhost:9093",
}


def for_all_brokers(name: str, value: str | None) -> ConfigChanged:
    return ConfigChanged(ResourceType.BROKER, "", name, value)


async def deciding(node: Node) -> None:
    await wait_until(lambda: node.controller.is_active)


async def test_it_decides_by_the_clusters_min_insync_replicas() -> None:
    async with running_node(PROPERTIES) as node:
        await deciding(node)
        seen: list[int] = []
        await node.controller.decide(lambda: [for_all_brokers("min.insync.replicas", "2")])

        def look() -> list[ConfigChanged]:
            seen.append(node.controller.rules_of("t").min_isr_of(3))
            return []

        await node.controller.decide(look)
        assert seen == [2]


async def test_a_snapshots_configuration_is_known_from_the_start() -> None:
    disk = MemoryDisk()
    properties = {**PROPERTIES, "metadata.log.max.record.bytes.between.snapshots": "1"}
    async with running_node(properties, {"data": disk}) as node:
        await deciding(node)
        await node.controller.decide(lambda: [for_all_brokers("min.insync.replicas", "2")])
        await wait_until(lambda: node.quorum.log.start_offset == node.quorum.log.end_offset)
    async with running_node(properties, {"data": disk}) as node:
        assert node.topic_rules("t").min_isr_of(3) == 2


async def test_it_keeps_no_list_of_partitions_that_nobody_will_follow() -> None:
    async with running_node(PROPERTIES) as node:
        await deciding(node)
        await node.controller.decide(lambda: [topic("t")])
        assert not node.role.follower._partitions


async def test_it_knows_where_to_knock_when_a_broker_falls_silent() -> None:
    async with running_node(PROPERTIES) as node:
        await deciding(node)
        await let_in(node, 2)
        assert node.role.address_of(2) == Address("elsewhere", 9092)
        assert node.role.address_of(3) is None


def test_it_may_be_told_which_listener_brokers_use_among_each_other() -> None:
    config = BrokerConfig.of(
        {"node.id": "1", **PROPERTIES, "inter.broker.listener.name": "internal"}
    )
    assert config.inter_broker_listener_name == "INTERNAL"
