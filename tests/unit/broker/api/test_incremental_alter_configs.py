"""IncrementalAlterConfigs: single changes that take effect at once, or not at all."""

import pytest

from broker.api.incremental_alter_configs import Operation, incremental_alter_configs
from broker.disk.memory import MemoryDisk
from broker.metadata.changes import ResourceType
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.nodes import ask, create_topic, running_node

TOPIC, BROKER = ResourceType.TOPIC, ResourceType.BROKER
SET, DELETE, APPEND, SUBTRACT = Operation

Edit = tuple[str, int, str | None]


async def alter(
    node: Node, resource_type: int, name: str, *edits: Edit, validate_only: bool = False
) -> m.IncrementalAlterConfigsResponseAlterConfigsResourceResponse:
    resource = m.IncrementalAlterConfigsRequestAlterConfigsResource(
        resource_type=resource_type,
        resource_name=name,
        configs=[
            m.IncrementalAlterConfigsRequestAlterableConfig(
                name=key, config_operation=operation, value=value
            )
            for key, operation, value in edits
        ],
    )
    body = m.IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only)
    request = ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, body)
    return (await incremental_alter_configs(node, request)).responses[0]


async def test_a_topics_logs_obey_at_once_and_after_a_restart() -> None:
    disk = MemoryDisk()
    async with running_node(disks={"data": disk}) as node:
        await create_topic(node, "t", retention_ms="5", segment_ms="7")
        done = await alter(
            node, TOPIC, "t", ("retention.ms", SET, "6"), ("segment.ms", DELETE, None)
        )
        assert done.error_code == ErrorCode.NONE
        [partition] = node.partitions
        assert (partition.log.config.retention_ms, partition.log.config.segment_ms) == (
            6,
            604800000,
        )
    async with running_node(disks={"data": disk}) as node:
        [partition] = node.partitions
        assert partition.log.config.retention_ms == 6


@pytest.mark.parametrize(
    ("before", "edit", "after"),
    [
        (None, (APPEND, "compact"), "delete,compact"),
        ("compact", (APPEND, "delete,compact"), "compact,delete"),
        ("compact,delete", (SUBTRACT, "delete"), "compact"),
        ("compact", (SUBTRACT, "delete"), "compact"),
    ],
)
async def test_lists_are_edited_from_where_they_stand(
    before: str | None, edit: tuple[int, str], after: str
) -> None:
    async with running_node() as node:
        configs = {} if before is None else {"cleanup_policy": before}
        await create_topic(node, "t", 1, **configs)
        done = await alter(node, TOPIC, "t", ("cleanup.policy", *edit))
        assert done.error_code == ErrorCode.NONE
        assert node.metadata.image.topic_configs("t")["cleanup.policy"] == after


@pytest.mark.parametrize(
    ("resource", "edits", "code"),
    [
        ((TOPIC, "nope"), [("retention.ms", SET, "1")], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ((TOPIC, "t"), [("retention.mss", SET, "1")], ErrorCode.INVALID_CONFIG),
        ((TOPIC, "t"), [("retention.ms", SET, "x")], ErrorCode.INVALID_CONFIG),
        ((TOPIC, "t"), [("retention.ms", SET, None)], ErrorCode.INVALID_REQUEST),
        ((TOPIC, "t"), [("retention.ms", APPEND, "1")], ErrorCode.INVALID_CONFIG),
        ((TOPIC, "t"), [("retention.ms", 9, "1")], ErrorCode.INVALID_REQUEST),
        (
            (TOPIC, "t"),
            [("retention.ms", SET, "1"), ("retention.ms", SET, "2")],
            ErrorCode.INVALID_REQUEST,
        ),
        ((TOPIC, "t"), [("cleanup.policy", APPEND, "shred")], ErrorCode.INVALID_CONFIG),
        ((BROKER, "1"), [("log.dirs", SET, "/x")], ErrorCode.INVALID_REQUEST),
        ((BROKER, "1"), [("nonsense", SET, "1")], ErrorCode.INVALID_REQUEST),
        ((BROKER, "1"), [("log.segment.bytes", SET, "1")], ErrorCode.INVALID_CONFIG),
        ((BROKER, "2"), [("log.segment.bytes", SET, "1000")], ErrorCode.INVALID_REQUEST),
        (
            (BROKER, ""),
            [("leader.replication.throttled.rate", SET, "5")],
            ErrorCode.INVALID_REQUEST,
        ),
        ((8, "1"), [("x", SET, "1")], ErrorCode.INVALID_REQUEST),
    ],
)
async def test_each_mistake_has_its_code_and_changes_nothing(
    resource: tuple[int, str], edits: list[Edit], code: ErrorCode
) -> None:
    async with running_node() as node:
        await create_topic(node, "t", retention_ms="5")
        before = dict(node.metadata.image.configs)
        done = await alter(node, *resource, *edits)
        assert (done.error_code, bool(done.error_message)) == (code, True)
        assert node.metadata.image.configs == before


async def test_a_default_for_all_topics_can_change_while_the_broker_runs() -> None:
    async with running_node() as node:
        await create_topic(node, "own", retention_ms="5")
        await create_topic(node, "plain")
        done = await alter(node, BROKER, "", ("log.retention.ms", SET, "9"))
        assert done.error_code == ErrorCode.NONE
        retention = {each.topic: each.log.config.retention_ms for each in node.partitions}
        assert retention == {"own": 5, "plain": 9}
        await alter(node, BROKER, "", ("log.retention.ms", DELETE, None))
        retention = {each.topic: each.log.config.retention_ms for each in node.partitions}
        assert retention == {"own": 5, "plain": 604800000}


async def test_validating_only_changes_nothing() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        done = await alter(node, TOPIC, "t", ("retention.ms", SET, "6"), validate_only=True)
        assert done.error_code == ErrorCode.NONE
        assert node.metadata.image.topic_configs("t") == {}


@pytest.mark.parametrize(
    ("broker", "name", "value", "code"),
    [
        ("", "max.connections", "100", ErrorCode.NONE),
        ("", "max.connections.per.ip", "10", ErrorCode.NONE),
        ("", "transaction.partition.verification.enable", "false", ErrorCode.NONE),
        ("", "metric.reporters", "a,b", ErrorCode.NONE),
        ("", "remote.log.manager.copy.max.bytes.per.second", "1000", ErrorCode.NONE),
        ("1", "sasl.kerberos.min.time.before.relogin", "1", ErrorCode.NONE),
        ("", "sasl.kerberos.min.time.before.relogin", "1", ErrorCode.INVALID_REQUEST),
        ("", "listener.name.plaintext.max.connections", "5", ErrorCode.NONE),
        ("1", "listener.name.plaintext.ssl.keystore.type", "PEM", ErrorCode.NONE),
        ("", "listener.name.plaintext.ssl.keystore.type", "PEM", ErrorCode.INVALID_REQUEST),
        ("", "log.retention.hours", "1", ErrorCode.INVALID_REQUEST),
        ("", "log.retention.minutes", "1", ErrorCode.INVALID_REQUEST),
        ("", "log.roll.hours", "1", ErrorCode.INVALID_REQUEST),
        ("", "log.roll.jitter.hours", "1", ErrorCode.INVALID_REQUEST),
        ("", "max.connections", "many", ErrorCode.INVALID_CONFIG),
    ],
)
async def test_a_broker_takes_the_changes_that_kafka_takes(
    broker: str, name: str, value: str, code: ErrorCode
) -> None:
    async with running_node() as node:
        assert (await alter(node, BROKER, broker, (name, SET, value))).error_code == code
