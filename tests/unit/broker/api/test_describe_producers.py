"""DescribeProducers: who wrote to a partition."""

from broker.api.describe_producers import describe_producers
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.at_once import at_once
from tests.unit.broker.api.nodes import append, ask, create_topic, running_node


async def test_a_producer_is_told_with_its_last_sequence() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        append(node, "t", 3, producer_id=42)
        append(node, "t", 1)
        asked = m.DescribeProducersRequestTopicRequest(name="t", partition_indexes=[0, 5])
        body = m.DescribeProducersRequest(topics=[asked])
        [topic] = at_once(describe_producers(node, ask(ApiKey.DESCRIBE_PRODUCERS, body))).topics
        known, missing = topic.partitions
        [producer] = known.active_producers
        assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (42, 0, 2)
        assert producer.current_txn_start_offset == -1
        assert missing.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_name_that_no_topic_can_have_is_called_illegal() -> None:
    async with running_node() as node:
        asked = m.DescribeProducersRequestTopicRequest(name="no/name", partition_indexes=[0])
        body = m.DescribeProducersRequest(topics=[asked])
        [topic] = at_once(describe_producers(node, ask(ApiKey.DESCRIBE_PRODUCERS, body))).topics
        assert topic.partitions[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
