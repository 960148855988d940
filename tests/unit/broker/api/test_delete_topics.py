"""DeleteTopics by name and by id."""

import logging

import pytest

from broker.api.delete_topics import delete_topics
from broker.disk.memory import MemoryDisk
from broker.log.identity import text_of_id
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.nodes import append, ask, create_topic, running_node


async def delete(
    node: Node, *states: m.DeleteTopicState, version: int = 6
) -> list[m.DeletableTopicResult]:
    body = m.DeleteTopicsRequest(
        topics=list(states), topic_names=[state.name or "" for state in states]
    )
    return (await delete_topics(node, ask(ApiKey.DELETE_TOPICS, body, version))).responses


@pytest.mark.parametrize("version", [1, 5, 6])
async def test_a_deleted_topic_and_its_logs_are_gone(version: int) -> None:
    disk = MemoryDisk()
    async with running_node(disks={"data": disk}) as node:
        topic_id = await create_topic(node, "t", 2)
        append(node, "t", 3)
        [done] = await delete(node, m.DeleteTopicState(name="t"), version=version)
        assert (done.error_code, done.name, done.topic_id) == (0, "t", topic_id)
        assert len(node.partitions) == 0
        left = [name for name in await disk.list("") if name.startswith("t-")]
        assert all(name.endswith("-delete") for name in left)


async def test_a_topic_made_anew_is_another_topic_and_empty() -> None:
    async with running_node() as node:
        first = await create_topic(node, "t")
        append(node, "t", 3)
        await delete(node, m.DeleteTopicState(name=None, topic_id=first))
        assert await create_topic(node, "t") != first
        partition = node.partitions.find("t", 0)
        assert partition is not None
        assert partition.log.end_offset == 0


async def test_each_mistake_has_its_code() -> None:
    async with running_node() as node:
        topic_id = await create_topic(node, "t")
        answers = await delete(
            node,
            m.DeleteTopicState(name="nope"),
            m.DeleteTopicState(name=None, topic_id=b"\x07" * 16),
            m.DeleteTopicState(name="t", topic_id=topic_id),
            m.DeleteTopicState(name=None),
        )
        assert [answer.error_code for answer in answers] == [
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ErrorCode.UNKNOWN_TOPIC_ID,
            ErrorCode.INVALID_REQUEST,
            ErrorCode.INVALID_REQUEST,
        ]
        assert "t" in node.metadata.image.topics


async def test_a_topic_that_is_named_twice_stays() -> None:
    async with running_node() as node:
        topic_id = await create_topic(node, "t")
        answers = await delete(
            node, m.DeleteTopicState(name="t"), m.DeleteTopicState(name=None, topic_id=topic_id)
        )
        [answer] = answers
        assert answer.error_code == ErrorCode.INVALID_REQUEST
        assert (answer.name, answer.topic_id) == ("t", topic_id)
        assert "t" in node.metadata.image.topics


async def test_deleting_can_be_forbidden() -> None:
    async with running_node({"delete.topic.enable": "false"}) as node:
        await create_topic(node, "t")
        [answer] = await delete(node, m.DeleteTopicState(name="t"))
        assert answer.error_code == ErrorCode.TOPIC_DELETION_DISABLED
        [answer] = await delete(node, m.DeleteTopicState(name="t"), version=2)
        assert answer.error_code == ErrorCode.INVALID_REQUEST


async def test_a_deletion_is_in_the_log_and_a_refused_one_is_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running_node() as node:
        topic_id = await create_topic(node, "t")
        with caplog.at_level(logging.INFO, "broker.api.delete_topics"):
            await delete(node, m.DeleteTopicState(name="t"), m.DeleteTopicState(name="u"))
        [line] = [each.getMessage() for each in caplog.records if "delete_topics" in each.name]
        assert line == f"topic t with id {text_of_id(topic_id)} is deleted, as test asked"
