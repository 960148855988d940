"""Topics and clusters are changed and described; what may have been done is not done again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from harness.native.admin import QuorumReplica
from harness.native.errors import (
    BrokerError,
    ConnectionLostError,
    RequestTimedOutError,
    UnsupportedApiError,
)
from harness.wire.message import Message
from tests.nodes import CLUSTER_ID, running_node
from tests.unit.harness.native.client_worlds import HASTY, ScriptedBroker, client_of, scripted


async def test_a_topic_is_made_described_and_deleted() -> None:
    async with running_node() as node, client_of(node.advertised) as client:
        topic_id = await client.admin.create_topic(
            "t", partitions=3, configs={"retention.ms": "5000"}
        )
        view = await client.admin.describe_topic("t")
        assert view.topic_id == topic_id
        assert sorted(view.partitions) == [0, 1, 2]
        assert {(each.leader, each.isr) for each in view.partitions.values()} == {(1, (1,))}
        with pytest.raises(BrokerError) as caught:
            await client.admin.create_topic("t")
        assert caught.value.code == ErrorCode.TOPIC_ALREADY_EXISTS
        assert caught.value.is_definite
        await client.admin.delete_topic("t")
        with pytest.raises(BrokerError) as caught:
            await client.admin.describe_topic("t", node=1)
        assert caught.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_replicas_may_be_assigned_by_hand() -> None:
    async with running_node() as node, client_of(node.advertised) as client:
        await client.admin.create_topic("t", assignment={0: [1], 1: [1]})
        view = await client.admin.describe_topic("t")
        assert [each.replicas for each in view.partitions.values()] == [(1,), (1,)]


async def test_the_cluster_is_described() -> None:
    async with running_node() as node, client_of(node.advertised) as client:
        described = await client.admin.describe_cluster()
        assert (described.cluster_id, described.controller_id) == (CLUSTER_ID, 1)
        assert described.brokers == {1: node.advertised}
        assert await client.admin.describe_cluster(node=1) == described


async def test_what_a_broker_does_not_serve_is_said_so() -> None:
    broker = ScriptedBroker()
    del broker.served[ApiKey.ELECT_LEADERS]
    async with scripted(broker), client_of(broker.address) as client:
        with pytest.raises(UnsupportedApiError, match="does not serve ELECT_LEADERS"):
            await client.admin.elect_leaders([("t", 0)])


async def test_leaders_are_elected_and_every_partition_says_how_it_went() -> None:
    broker = ScriptedBroker()

    async def answer(message: Message) -> m.ElectLeadersResponse:
        asked = message.body.topic_partitions
        assert [(each.topic, each.partitions) for each in asked] == [("a", [0, 2]), ("b", [1])]
        results = [
            m.PartitionResult(partition_id=0),
            m.PartitionResult(partition_id=2, error_code=ErrorCode.ELECTION_NOT_NEEDED),
        ]
        return m.ElectLeadersResponse(
            replica_election_results=[m.ReplicaElectionResult(topic="a", partition_result=results)]
        )

    broker.script[ApiKey.ELECT_LEADERS] = answer
    async with scripted(broker), client_of(broker.address) as client:
        assert await client.admin.elect_leaders([("a", 0), ("b", 1), ("a", 2)]) == {
            ("a", 0): ErrorCode.NONE,
            ("a", 2): ErrorCode.ELECTION_NOT_NEEDED,
        }


async def test_partitions_are_reassigned_and_reassignments_called_off() -> None:
    broker = ScriptedBroker()

    async def answer(message: Message) -> m.AlterPartitionReassignmentsResponse:
        (topic,) = message.body.topics
        wanted = {part.partition_index: part.replicas for part in topic.partitions}
        assert (topic.name, wanted) == ("t", {0: [2, 3], 1: None})
        parts = [m.ReassignablePartitionResponse(partition_index=index) for index in wanted]
        return m.AlterPartitionReassignmentsResponse(
            responses=[m.ReassignableTopicResponse(name="t", partitions=parts)]
        )

    broker.script[ApiKey.ALTER_PARTITION_REASSIGNMENTS] = answer
    async with scripted(broker), client_of(broker.address) as client:
        done = await client.admin.alter_partition_reassignments({("t", 0): [2, 3], ("t", 1): None})
        assert done == {("t", 0): ErrorCode.NONE, ("t", 1): ErrorCode.NONE}


async def test_the_quorum_is_described() -> None:
    broker = ScriptedBroker()

    async def answer(message: Message) -> m.DescribeQuorumResponse:
        part = m.DescribeQuorumResponsePartitionData(
            leader_id=2,
            leader_epoch=7,
            high_watermark=40,
            current_voters=[m.DescribeQuorumResponseReplicaState(replica_id=2, log_end_offset=41)],
            observers=[m.DescribeQuorumResponseReplicaState(replica_id=9, log_end_offset=30)],
        )
        return m.DescribeQuorumResponse(
            topics=[
                m.DescribeQuorumResponseTopicData(
                    topic_name="__cluster_metadata", partitions=[part]
                )
            ]
        )

    broker.script[ApiKey.DESCRIBE_QUORUM] = answer
    async with scripted(broker), client_of(broker.address) as client:
        quorum = await client.admin.describe_quorum()
        assert (quorum.leader_id, quorum.leader_epoch, quorum.high_watermark) == (2, 7, 40)
        assert quorum.voters == (QuorumReplica(2, 41),)
        assert quorum.observers == (QuorumReplica(9, 30),)


def created(code: ErrorCode) -> m.CreateTopicsResponse:
    return m.CreateTopicsResponse(topics=[m.CreatableTopicResult(name="t", error_code=code)])


async def test_the_controller_is_looked_for_when_another_was_asked() -> None:
    old, new = ScriptedBroker(1), ScriptedBroker(2)
    new.controller_id = 1

    async def refuse(message: Message) -> m.CreateTopicsResponse:
        old.controller_id = new.controller_id = 2
        return created(ErrorCode.NOT_CONTROLLER)

    async def create(message: Message) -> m.CreateTopicsResponse:
        return created(ErrorCode.NONE)

    old.script[ApiKey.CREATE_TOPICS] = refuse
    new.script[ApiKey.CREATE_TOPICS] = create
    async with scripted(old, new), client_of(old.address) as client:
        await client.admin.create_topic("t")
        assert (old.count(ApiKey.CREATE_TOPICS), new.count(ApiKey.CREATE_TOPICS)) == (1, 1)


async def test_a_change_whose_answer_is_lost_is_not_made_twice() -> None:
    broker = ScriptedBroker()

    async def vanish(message: Message) -> None:
        broker.cut()

    broker.script[ApiKey.CREATE_TOPICS] = vanish
    async with scripted(broker), client_of(broker.address) as client:
        with pytest.raises(ConnectionLostError) as caught:
            await client.admin.create_topic("t")
        assert not caught.value.is_definite
        assert broker.count(ApiKey.CREATE_TOPICS) == 1


async def test_a_change_that_takes_too_long_is_unknown_whatever_was_refused_before() -> None:
    broker = ScriptedBroker()

    async def slow(message: Message) -> m.CreateTopicsResponse | None:
        first = broker.count(ApiKey.CREATE_TOPICS) == 1
        return created(ErrorCode.NOT_CONTROLLER) if first else None

    broker.script[ApiKey.CREATE_TOPICS] = slow
    settings = replace(HASTY, call_timeout_s=0.2)
    async with scripted(broker), client_of(broker.address, settings=settings) as client:
        with pytest.raises(RequestTimedOutError, match="before: node 1: NOT_CONTROLLER") as caught:
            await client.admin.create_topic("t")
        assert not caught.value.is_definite
