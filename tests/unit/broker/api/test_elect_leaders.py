"""ElectLeaders: leadership goes where it belongs, and the answer says where it could not."""

from __future__ import annotations

from broker.api.elect_leaders import elect_leaders
from broker.metadata.changes import TopicCreated
from broker.metadata.partition_info import PartitionInfo
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.nodes import ask, running_node
from tests.unit.broker.api.other_brokers import let_in
from tests.virtual_time import in_virtual_time

PREFERRED, UNCLEAN = 0, 1


async def topic_led_by(node: Node, *leaders: int) -> None:
    """Partitions of broker 2, which is the preferred one, and of this node."""
    infos = tuple(PartitionInfo(replicas=(2, 1), isr=(2, 1), leader=leader) for leader in leaders)
    await node.change(lambda: [TopicCreated("t", b"t" * 16, infos, {})])


async def elect(
    node: Node, indexes: list[int] | None, kind: int = PREFERRED, topic: str = "t"
) -> dict[int, int]:
    """The error for each partition of the answer."""
    partitions = None
    if indexes is not None:
        partitions = [m.ElectLeadersRequestTopicPartitions(topic=topic, partitions=indexes)]
    body = m.ElectLeadersRequest(election_type=kind, topic_partitions=partitions, timeout_ms=1000)
    answer = await elect_leaders(node, ask(ApiKey.ELECT_LEADERS, body))
    assert answer.error_code == 0
    return {
        each.partition_id: each.error_code
        for result in answer.replica_election_results
        for each in result.partition_result
    }


def leaders(node: Node) -> list[int]:
    return [each.leader for each in node.metadata.image.topics["t"].partitions]


@in_virtual_time
async def test_the_preferred_replica_leads_again() -> None:
    async with running_node() as node:
        await let_in(node, 2)
        await topic_led_by(node, 1, 1, 2)
        answer = await elect(node, [0, 2, 9])
        assert answer == {
            0: ErrorCode.NONE,
            2: ErrorCode.ELECTION_NOT_NEEDED,
            9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        }
        assert leaders(node) == [2, 1, 2]
        assert node.metadata.image.topics["t"].partitions[0].leader_epoch == 1
        held = node.partitions.find("t", 0)
        assert held is not None
        assert held.leader is None


async def test_asked_for_all_it_tells_only_of_those_that_moved() -> None:
    async with running_node() as node:
        await let_in(node, 2)
        await topic_led_by(node, 1, 2, 1)
        assert await elect(node, None) == {0: ErrorCode.NONE, 2: ErrorCode.NONE}
        assert leaders(node) == [2, 2, 2]


async def test_a_preferred_replica_that_is_away_does_not_lead() -> None:
    async with running_node() as node:
        await topic_led_by(node, 1)
        assert await elect(node, [0]) == {0: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}
        assert leaders(node) == [1]


async def test_an_unclean_election_is_for_partitions_without_a_leader() -> None:
    async with running_node() as node:
        await topic_led_by(node, 1)
        assert await elect(node, [0], UNCLEAN) == {0: ErrorCode.ELECTION_NOT_NEEDED}


async def test_a_kind_of_election_that_nobody_knows_is_refused() -> None:
    async with running_node() as node:
        await topic_led_by(node, 1, 1)
        asked = m.ElectLeadersRequestTopicPartitions(topic="t", partitions=[0, 1])
        body = m.ElectLeadersRequest(election_type=7, topic_partitions=[asked])
        answer = await elect_leaders(node, ask(ApiKey.ELECT_LEADERS, body))
        assert answer.error_code == ErrorCode.INVALID_REQUEST
        [topic] = answer.replica_election_results
        codes = {each.partition_id: each.error_code for each in topic.partition_result}
        assert codes == {0: ErrorCode.INVALID_REQUEST, 1: ErrorCode.INVALID_REQUEST}


async def test_every_topic_and_every_place_of_a_request_has_an_answer() -> None:
    async with running_node() as node:
        await let_in(node, 2)
        await topic_led_by(node, 1)
        asked = [
            m.ElectLeadersRequestTopicPartitions(topic="t", partitions=[0, 0]),
            m.ElectLeadersRequestTopicPartitions(topic="other", partitions=[]),
        ]
        body = m.ElectLeadersRequest(election_type=PREFERRED, topic_partitions=asked)
        answer = await elect_leaders(node, ask(ApiKey.ELECT_LEADERS, body))
        found = [
            (each.topic, [part.error_code for part in each.partition_result])
            for each in answer.replica_election_results
        ]
        assert found == [("t", [ErrorCode.NONE, ErrorCode.NONE]), ("other", [])]
        assert node.metadata.image.topics["t"].partitions[0].leader_epoch == 1
