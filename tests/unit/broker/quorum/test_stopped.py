"""A node whose disk fails at a vote never speaks it, also not when it is asked again."""

from __future__ import annotations

import errno

import pytest

from broker.api import quorum_members
from broker.api.request import CloseConnectionError
from broker.disk.memory import MemoryDisk, is_from_fault
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import KafkaError
from broker.quorum.metadata_log import DIRECTORY, TOPIC
from tests.unit.broker.api.nodes import CLUSTER_ID, ask, running_node

OF_THREE = {
    "process.roles": "controller",
    "listeners": "CONTROLLER://localhost:9093",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "1@localhost:9093,2@n2:9093,3@n3:9093",
}


async def asked_for_its_vote(node: Node) -> m.VoteResponse:
    part = m.VoteRequestPartitionData(
        partition_index=0, replica_epoch=9, replica_id=2, last_offset_epoch=8, last_offset=99
    )
    body = m.VoteRequest(
        cluster_id=CLUSTER_ID,
        voter_id=1,
        topics=[m.VoteRequestTopicData(topic_name=TOPIC, partitions=[part])],
    )
    return await quorum_members.vote(node, ask(ApiKey.VOTE, body))


async def test_a_vote_that_is_not_on_disk_is_not_spoken() -> None:
    disk = MemoryDisk()
    async with running_node(OF_THREE, {"data": disk}) as node:
        disk.fail("replace", "*/quorum-state", error=errno.EIO, times=1)
        with pytest.raises(OSError, match="quorum-state"):
            await asked_for_its_vote(node)
        assert node.failed.done()
        with pytest.raises(CloseConnectionError, match="no part in the quorum any more"):
            await asked_for_its_vote(node)


async def test_a_node_that_failed_turns_the_others_away_before_all_else() -> None:
    listening: list[int] = []
    async with running_node(OF_THREE) as node:
        leave = node.role.leave

        async def look_and_leave() -> None:
            listening.append(len(node.controller_server._listeners))
            await leave()

        node.role.leave = look_and_leave  # type: ignore[method-assign]
        node.fail(OSError("a test says so"))
    assert listening == [0]


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
async def test_a_node_ends_as_soon_as_a_read_takes_its_metadata_log_offline(number: int) -> None:
    """Whoever reads gets an error; without more the node would live on with what it knows."""
    disk = MemoryDisk()
    async with running_node(disks={"data": disk}) as node:
        disk.fail("is_hot", f"{DIRECTORY}/*", error=number, times=1)
        with pytest.raises(KafkaError):
            node.quorum.log.read(0, 1000)
        assert node.failed.done()
        cause = node.failed.result().__cause__
        assert isinstance(cause, OSError)
        assert is_from_fault(cause)


async def test_a_node_ends_when_its_metadata_log_fails_in_the_background() -> None:
    """A roll syncs the old segment behind the scenes, where nobody waits for the outcome."""
    disk = MemoryDisk()
    async with running_node(disks={"data": disk}) as node:
        disk.fail("fdatasync", f"{DIRECTORY}/*", error=errno.ENOSPC, times=1)
        await node.quorum.log.log.roll()
        await node.quorum.log.log.settle()
        assert node.failed.done()
