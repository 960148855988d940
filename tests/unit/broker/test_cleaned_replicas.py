"""How far all replicas have been compacted, as the cleaner of one of them learns it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from broker.api.list_offsets import list_offsets
from broker.cleaned_replicas import CLEANED, CleanedReplicas
from broker.log.compaction import NO_LIMIT
from broker.node import Node
from broker.partition import Partition
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.nodes import ask, create_topic, running_node


def replicated(node: Node, *replicas: int) -> Partition:
    partition = node.partitions.find("t", 0)
    assert partition is not None
    assert partition.info is not None
    partition.info = replace(partition.info, replicas=replicas)
    me = node.metadata.image.brokers[node.node_id]
    for each in replicas:
        if each != node.node_id:
            node.metadata.image.brokers[each] = me
    return partition


class Answers(CleanedReplicas):
    """The others answer this; None is no answer."""

    def __init__(self, node: Node, offsets: dict[int, int | None]) -> None:
        super().__init__(node)
        self.offsets = offsets

    async def _ask(self, broker_id: int, partition: Partition) -> int | None:
        return self.offsets[broker_id]


async def test_the_replica_that_is_furthest_behind_counts() -> None:
    async with running_node() as node:
        await create_topic(node, "t", cleanup_policy="compact")
        partition = replicated(node, 1, 2, 3)
        others = Answers(node, {2: 40, 3: 70})
        node.partitions.directories["data"].cleaner._cleaned_to["t", 0] = 50
        assert await others.removable_below(partition.log) == 40
        others.offsets[2] = 60
        assert await others.removable_below(partition.log) == 50


async def test_a_replica_that_never_answered_keeps_everything() -> None:
    async with running_node() as node:
        await create_topic(node, "t", cleanup_policy="compact")
        partition = replicated(node, 1, 2, 3)
        node.partitions.directories["data"].cleaner._cleaned_to["t", 0] = 50
        assert await Answers(node, {2: 40, 3: None}).removable_below(partition.log) == 0


async def test_what_a_replica_reported_holds_while_it_is_away() -> None:
    async with running_node() as node:
        await create_topic(node, "t", cleanup_policy="compact")
        partition = replicated(node, 1, 2)
        node.partitions.directories["data"].cleaner._cleaned_to["t", 0] = 50
        others = Answers(node, {2: 40})
        assert await others.removable_below(partition.log) == 40
        others.offsets[2] = None
        assert await others.removable_below(partition.log) == 40


@pytest.mark.parametrize(("rule", "expected"), [("time", NO_LIMIT), ("all-replicas", 0)])
async def test_the_rule_is_configured(rule: str, expected: int) -> None:
    async with running_node({"reference.log.cleaner.removal.rule": rule}) as node:
        await create_topic(node, "t", cleanup_policy="compact")
        partition = replicated(node, 1, 2)
        assert await Answers(node, {2: None}).removable_below(partition.log) == expected


async def test_a_replica_without_others_waits_for_nobody() -> None:
    async with running_node() as node:
        await create_topic(node, "t", cleanup_policy="compact")
        partition = replicated(node, 1)
        assert await Answers(node, {}).removable_below(partition.log) == NO_LIMIT


@pytest.mark.parametrize(
    ("replica_id", "expected"), [(2, (0, 17)), (-1, (ErrorCode.UNSUPPORTED_VERSION, -1))]
)
async def test_only_brokers_are_told(replica_id: int, expected: tuple[int, int]) -> None:
    async with running_node() as node:
        await create_topic(node, "t", cleanup_policy="compact")
        node.partitions.directories["data"].cleaner._cleaned_to["t", 0] = 17
        asked = m.ListOffsetsPartition(partition_index=0, current_leader_epoch=0, timestamp=CLEANED)
        body = m.ListOffsetsRequest(
            replica_id=replica_id, topics=[m.ListOffsetsTopic(name="t", partitions=[asked])]
        )
        answer = await list_offsets(node, ask(ApiKey.LIST_OFFSETS, body))
        [found] = answer.topics[0].partitions
        assert (found.error_code, found.offset) == expected
