"""DescribeConfigs: values, and who said them."""

import pytest

from broker.api.describe_configs import describe_configs
from broker.metadata.changes import ConfigChanged, ResourceType
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.at_once import at_once
from tests.unit.broker.api.nodes import ask, create_topic, running_node

TOPIC, BROKER = ResourceType.TOPIC, ResourceType.BROKER


def describe(
    node: Node,
    resource_type: int,
    name: str,
    keys: list[str] | None = None,
    *,
    documentation: bool = False,
) -> m.DescribeConfigsResult:
    resource = m.DescribeConfigsResource(
        resource_type=resource_type, resource_name=name, configuration_keys=keys
    )
    body = m.DescribeConfigsRequest(
        resources=[resource], include_synonyms=True, include_documentation=documentation
    )
    return at_once(describe_configs(node, ask(ApiKey.DESCRIBE_CONFIGS, body))).results[0]


def entry(node: Node, resource_type: int, name: str, key: str) -> m.DescribeConfigsResourceResult:
    [found] = describe(node, resource_type, name, [key]).configs
    return found


def synonyms(found: m.DescribeConfigsResourceResult) -> list[tuple[str, str | None, int]]:
    return [(each.name, each.value, each.source) for each in found.synonyms]


async def test_a_topics_value_names_every_layer_that_speaks_for_it() -> None:
    async with running_node({"log.retention.hours": "2"}) as node:
        await create_topic(node, "t", retention_ms="5")
        await create_topic(node, "u")
        found = entry(node, TOPIC, "t", "retention.ms")
        assert (found.value, found.config_source, found.config_type) == ("5", 1, 5)
        assert synonyms(found) == [
            ("retention.ms", "5", 1),
            ("log.retention.hours", "2", 4),
            ("log.retention.hours", "168", 5),
        ]
        found = entry(node, TOPIC, "u", "retention.ms")
        assert (found.value, found.config_source) == ("7200000", 4)


async def test_a_topics_untouched_value_is_the_default() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        found = entry(node, TOPIC, "t", "segment.bytes")
        assert (found.value, found.config_source, found.read_only) == ("1073741824", 5, False)
        assert synonyms(found) == [("log.segment.bytes", "1073741824", 5)]
        assert entry(node, TOPIC, "t", "remote.storage.enable").value == "false"


async def test_without_keys_everything_is_told() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        topic = describe(node, TOPIC, "t").configs
        assert {"cleanup.policy", "max.message.bytes"} <= {each.name for each in topic}
        broker = describe(node, BROKER, "1").configs
        assert len({each.name for each in broker}) == len(broker) > 300
        assert "zookeeper.connect" not in {each.name for each in broker}


async def test_what_changed_while_running_wins_over_the_file() -> None:
    async with running_node({"log.retention.ms": "10"}) as node:
        await node.change(
            lambda: [
                ConfigChanged(BROKER, "", "log.retention.ms", "20"),
                ConfigChanged(BROKER, "1", "log.retention.ms", "30"),
            ]
        )
        found = entry(node, BROKER, "1", "log.retention.ms")
        assert (found.value, found.config_source, found.read_only) == ("30", 2, False)
        assert [(value, source) for _, value, source in synonyms(found)] == [
            ("30", 2),
            ("20", 3),
            ("10", 4),
        ]
        [default] = describe(node, BROKER, "").configs
        assert (default.name, default.value, default.config_source) == (
            "log.retention.ms",
            "20",
            3,
        )


async def test_what_needs_a_restart_is_read_only_on_a_broker() -> None:
    async with running_node() as node:
        assert entry(node, BROKER, "1", "socket.request.max.bytes").read_only
        assert entry(node, BROKER, "1", "log.dirs").config_source == 4


async def test_a_secret_is_never_told() -> None:
    async with running_node({"ssl.key.password": "hunter2"}) as node:
        found = entry(node, BROKER, "1", "ssl.key.password")
        assert (found.value, found.is_sensitive) == (None, True)
        assert [value for _, value, _ in synonyms(found)] == [None]


async def test_documentation_is_told_when_it_is_wanted() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        [found] = describe(node, TOPIC, "t", ["retention.ms"], documentation=True).configs
        assert found.documentation
        assert "kept" in found.documentation
        assert entry(node, TOPIC, "t", "retention.ms").documentation is None


@pytest.mark.parametrize(
    ("resource_type", "name", "code"),
    [
        (TOPIC, "nope", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (BROKER, "2", ErrorCode.INVALID_REQUEST),
        (BROKER, "x", ErrorCode.INVALID_REQUEST),
        (8, "2", ErrorCode.INVALID_REQUEST),
        (16, "1", ErrorCode.INVALID_REQUEST),
    ],
)
async def test_what_is_not_there_cannot_be_described(
    resource_type: int, name: str, code: ErrorCode
) -> None:
    async with running_node() as node:
        found = describe(node, resource_type, name)
        assert (found.error_code, found.configs) == (code, [])
        assert found.error_message


async def test_what_has_neither_value_nor_default_has_no_synonyms() -> None:
    async with running_node() as node:
        found = entry(node, BROKER, "1", "broker.rack")
        assert (found.value, found.config_source, synonyms(found)) == (None, 5, [])


async def test_the_older_name_of_the_nodes_id_says_the_same() -> None:
    async with running_node() as node:
        found = entry(node, BROKER, "1", "broker.id")
        assert (found.value, found.config_source) == ("1", 4)
        assert synonyms(found) == [("broker.id", "1", 4), ("broker.id", "-1", 5)]


async def test_a_value_for_one_listener_is_shown_by_its_whole_name() -> None:
    name = "listener.name.plaintext.max.connections"
    async with running_node({name: "9"}) as node:
        await node.change(lambda: [ConfigChanged(BROKER, "", name, "7")])
        found = entry(node, BROKER, "1", name)
        assert (found.value, found.read_only, found.config_type) == ("7", False, 3)
        assert synonyms(found) == [(name, "7", 3), (name, "9", 4)]
        [of_all] = describe(node, BROKER, "").configs
        assert (of_all.name, of_all.value) == (name, "7")


async def test_no_names_are_all_names() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        everything = describe(node, TOPIC, "t", None).configs
        assert len(everything) > 20
        assert describe(node, TOPIC, "t", []).configs == everything


async def test_a_resource_that_is_named_twice_is_described_twice() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        resource = m.DescribeConfigsResource(
            resource_type=TOPIC, resource_name="t", configuration_keys=["retention.ms"]
        )
        body = m.DescribeConfigsRequest(resources=[resource, resource])
        answer = at_once(describe_configs(node, ask(ApiKey.DESCRIBE_CONFIGS, body)))
        assert [each.error_code for each in answer.results] == [0, 0]
        assert answer.results[0].configs == answer.results[1].configs
