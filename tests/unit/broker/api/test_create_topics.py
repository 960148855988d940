"""CreateTopics: what is made, what is refused and why."""

import asyncio
import errno

import pytest

from broker.api.create_topics import create_topics
from broker.disk.memory import MemoryDisk
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.nodes import ask, create_topic, running_node


def topic(
    name: str,
    partitions: int = 1,
    replication_factor: int = 1,
    configs: dict[str, str | None] | None = None,
    assignments: dict[int, list[int]] | None = None,
) -> m.CreatableTopic:
    return m.CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication_factor,
        configs=[
            m.CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()
        ],
        assignments=[
            m.CreatableReplicaAssignment(partition_index=index, broker_ids=nodes)
            for index, nodes in (assignments or {}).items()
        ],
    )


async def create(
    node: Node, *topics: m.CreatableTopic, validate_only: bool = False
) -> list[m.CreatableTopicResult]:
    body = m.CreateTopicsRequest(topics=list(topics), validate_only=validate_only)
    return (await create_topics(node, ask(ApiKey.CREATE_TOPICS, body))).topics


async def test_a_topic_gets_its_partitions_its_logs_and_its_configuration() -> None:
    async with running_node() as node:
        [made] = await create(node, topic("t", 3, configs={"retention.ms": "5000"}))
        assert (made.error_code, made.num_partitions, made.replication_factor) == (0, 3, 1)
        assert made.topic_id == node.metadata.image.topics["t"].topic_id
        assert made.configs is not None
        sources = {entry.name: (entry.value, entry.config_source) for entry in made.configs}
        assert sources["retention.ms"] == ("5000", 1)
        assert sources["segment.bytes"] == (str(2**30), 5)
        logs = [partition.log for partition in node.partitions]
        assert [log.config.retention_ms for log in logs] == [5000] * 3


async def test_a_topic_survives_a_restart_under_the_same_id() -> None:
    disk = MemoryDisk()
    async with running_node(disks={"data": disk}) as node:
        topic_id = await create_topic(node, "t", 2)
    async with running_node(disks={"data": disk}) as node:
        assert node.metadata.image.topics["t"].topic_id == topic_id
        assert len(node.partitions) == 2


async def test_minus_one_takes_the_brokers_defaults() -> None:
    async with running_node({"num.partitions": "4"}) as node:
        [made] = await create(node, topic("t", -1, -1))
        assert (made.error_code, made.num_partitions) == (0, 4)


async def test_asking_only_whether_it_could_be_made_makes_nothing() -> None:
    async with running_node() as node:
        [fine, wrong] = await create(node, topic("t"), topic("a/b"), validate_only=True)
        assert (fine.error_code, fine.topic_id, fine.num_partitions) == (0, bytes(16), 1)
        assert wrong.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
        assert node.metadata.image.topics == {}


@pytest.mark.parametrize(
    ("asked", "code", "message"),
    [
        (topic("old"), ErrorCode.TOPIC_ALREADY_EXISTS, "already exists"),
        (topic("o_ld.x"), ErrorCode.NONE, None),
        (topic("o.l.d"), ErrorCode.INVALID_TOPIC_EXCEPTION, "collides with topic 'o_l_d'"),
        (topic(""), ErrorCode.INVALID_TOPIC_EXCEPTION, "empty"),
        (topic(".."), ErrorCode.INVALID_TOPIC_EXCEPTION, "'..'"),
        (topic("x" * 250), ErrorCode.INVALID_TOPIC_EXCEPTION, "249"),
        (topic("ä"), ErrorCode.INVALID_TOPIC_EXCEPTION, "letters, digits"),
        (topic("x\n"), ErrorCode.INVALID_TOPIC_EXCEPTION, "letters, digits"),
        (topic("__cluster_metadata"), ErrorCode.INVALID_REQUEST, "cannot be created"),
        (topic("t", 0), ErrorCode.INVALID_PARTITIONS, "at least 1"),
        (topic("t", -2), ErrorCode.INVALID_PARTITIONS, "at least 1"),
        (topic("t", 10_001), ErrorCode.POLICY_VIOLATION, "too many"),
        (topic("t", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR, "cannot be"),
        (topic("t", 1, 2), ErrorCode.INVALID_REPLICATION_FACTOR, "needs 2 nodes"),
        (topic("t", configs={"nonsense": "1"}), ErrorCode.INVALID_CONFIG, "nonsense"),
        (topic("t", configs={"retention.ms": "x"}), ErrorCode.INVALID_CONFIG, "retention.ms"),
        (topic("t", configs={"retention.ms": None}), ErrorCode.INVALID_CONFIG, "no value"),
        (topic("t", -1, -1, assignments={0: [1], 1: [1]}), ErrorCode.NONE, None),
        (topic("t", 1, 1, assignments={0: [1]}), ErrorCode.INVALID_REQUEST, "must be -1"),
        (topic("t", -1, -1, assignments={1: [1]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "from 0"),
        (topic("t", -1, -1, assignments={0: [2]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "node 2"),
        (topic("t", -1, -1, assignments={0: []}), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "no repl"),
        (
            topic("t", -1, -1, assignments={0: [1, 1]}),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "twice",
        ),
    ],
)
async def test_each_mistake_has_its_code_and_its_sentence(
    asked: m.CreatableTopic, code: ErrorCode, message: str | None
) -> None:
    async with running_node() as node:
        await create_topic(node, "old")
        await create_topic(node, "o_l_d")
        [made] = await create(node, asked)
        assert made.error_code == code
        assert (made.error_message is None) is (message is None)
        assert (message or "") in (made.error_message or "")
        assert (asked.name in node.metadata.image.topics) is (
            code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
        )


async def test_one_topics_mistake_does_not_harm_the_others() -> None:
    async with running_node() as node:
        made = await create(node, topic("a"), topic("b", 0), topic("c"), topic("c"))
        codes = {each.name: each.error_code for each in made}
        assert codes == {
            "a": ErrorCode.NONE,
            "b": ErrorCode.INVALID_PARTITIONS,
            "c": ErrorCode.INVALID_REQUEST,
        }
        assert list(node.metadata.image.topics) == ["a"]


async def test_topics_that_collide_within_a_request_are_not_both_made() -> None:
    async with running_node() as node:
        first, second = await create(node, topic("a.b"), topic("a_b"))
        assert (first.error_code, second.error_code) == (0, ErrorCode.INVALID_TOPIC_EXCEPTION)


async def test_of_two_that_create_the_same_topic_at_once_one_is_told_that_it_exists() -> None:
    async with running_node() as node:
        answers = await asyncio.gather(
            create(node, topic("t"), topic("x")), create(node, topic("y"), topic("t"))
        )
        codes = {each.name: each.error_code for answer in answers for each in answer}
        assert codes["x"] == codes["y"] == ErrorCode.NONE
        made = sorted(each.error_code for answer in answers for each in answer if each.name == "t")
        assert made == [ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS]


async def test_a_full_disk_leaves_no_topic_and_may_be_asked_again() -> None:
    disk = MemoryDisk()
    async with running_node(disks={"data": disk}) as node:
        disk.capacity_bytes = 0
        for _ in range(2):
            [made] = await create(node, topic("t"))
            assert made.error_code == ErrorCode.KAFKA_STORAGE_ERROR
            assert "No space left" in (made.error_message or "")
            assert node.metadata.image.topics == {}
        disk.capacity_bytes = None
        [made] = await create(node, topic("t"))
        assert (made.error_code, list(node.metadata.image.topics)) == (0, ["t"])
        assert not node.failed.done()


async def test_a_disk_that_fails_the_metadata_log_ends_the_node() -> None:
    disk = MemoryDisk()
    async with running_node(disks={"data": disk}) as node:
        disk.fail("append", "__cluster_metadata-0/*", error=errno.EIO)
        [made] = await create(node, topic("t"))
        assert made.error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert "Input/output error" in str(node.failed.result())
        disk.heal()
