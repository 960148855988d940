"""OffsetForLeaderEpoch: where epochs end."""

import errno

from broker.api.offset_for_leader_epoch import offset_for_leader_epoch
from broker.disk.memory import MemoryDisk
from broker.log.breather import Breather
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.at_once import at_once
from tests.unit.broker.api.nodes import append, ask, create_topic, running_node


def end_of(
    node: Node, epoch: int, current: int = -1, topic: str = "t"
) -> m.OffsetForLeaderEpochResponseEpochEndOffset:
    asked = m.OffsetForLeaderPartition(
        partition=0, current_leader_epoch=current, leader_epoch=epoch
    )
    body = m.OffsetForLeaderEpochRequest(
        topics=[m.OffsetForLeaderTopic(topic=topic, partitions=[asked])]
    )
    request = ask(ApiKey.OFFSET_FOR_LEADER_EPOCH, body)
    return at_once(offset_for_leader_epoch(node, request)).topics[0].partitions[0]


async def test_an_epoch_ends_where_the_next_begins_and_the_running_one_at_the_end() -> None:
    disk = MemoryDisk()
    async with running_node(disks={"data": disk}) as node:
        await create_topic(node, "t")
        append(node, "t", 5)
    async with running_node(disks={"data": disk}) as node:
        append(node, "t", 3)
        [partition] = node.partitions
        now = partition.leader_epoch
        assert now > 0
        ended, running = end_of(node, 0), end_of(node, now, current=now)
        assert (ended.error_code, ended.leader_epoch, ended.end_offset) == (0, 0, 5)
        assert (running.error_code, running.leader_epoch, running.end_offset) == (0, now, 8)


async def test_an_epoch_that_wrote_nothing_ends_where_it_began() -> None:
    disk = MemoryDisk()
    async with running_node(disks={"data": disk}) as node:
        await create_topic(node, "t")
        append(node, "t", 5)
    async with running_node(disks={"data": disk}) as node:
        silent = node.partitions.find("t", 0)
        assert silent is not None
    async with running_node(disks={"data": disk}) as node:
        found = end_of(node, silent.leader_epoch)
        assert (found.error_code, found.leader_epoch, found.end_offset) == (0, 0, 5)


async def test_the_running_epoch_is_known_before_it_writes_and_after_a_comeback() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        [partition] = node.partitions
        assert (end_of(node, 0).leader_epoch, end_of(node, 0).end_offset) == (0, 0)
        partition.log.fail(OSError(errno.EIO, "a test"))
        assert end_of(node, 0).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        await partition.bring_back(Breather())
        back = end_of(node, 0)
        assert (back.error_code, back.leader_epoch, back.end_offset) == (0, 0, 0)


async def test_an_epoch_that_never_was_has_no_end() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        append(node, "t", 1)
        unknown = end_of(node, 99)
        assert (unknown.error_code, unknown.leader_epoch, unknown.end_offset) == (0, -1, -1)


async def test_an_asker_with_another_idea_of_the_leader_is_told() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        assert end_of(node, 0, current=7).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
        nope = end_of(node, 0, topic="nope")
        assert nope.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_negative_current_epoch_other_than_none_is_fenced() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        append(node, "t", 2)
        assert end_of(node, 0, current=-1).end_offset == 2
        fenced = end_of(node, 0, current=-2)
        assert (fenced.error_code, fenced.end_offset) == (ErrorCode.FENCED_LEADER_EPOCH, -1)
