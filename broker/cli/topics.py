"""`broker topics`: looks at a running broker's topics over the wire, and makes and deletes them."""

from __future__ import annotations

from collections.abc import Sequence

import click

from broker.cli.bootstrap import bootstrap_option, check_answer, with_client
from broker.cli.wire_client import WireClient
from broker.log.identity import text_of_id
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey

_TIMEOUT_MS = 30000
_PAGE = 2000
_TOPIC_RESOURCE = 2
_TOPIC_SOURCE = 1


@click.group()
def topics() -> None:
    """Topics of a running broker."""


@topics.command("list")
@bootstrap_option
def list_topics(bootstrap: str) -> None:
    """Print the topics' names."""

    async def work(client: WireClient) -> None:
        answer: m.MetadataResponse = await client.ask(
            ApiKey.METADATA, m.MetadataRequest(topics=None, allow_auto_topic_creation=False)
        )
        for topic in sorted(answer.topics, key=lambda topic: topic.name or ""):
            click.echo(topic.name)

    with_client(bootstrap, work)


@topics.command("describe")
@bootstrap_option
@click.argument("names", nargs=-1)
def describe(bootstrap: str, names: Sequence[str]) -> None:
    """Print partitions, leaders and configurations of the named topics, or of all."""
    with_client(bootstrap, lambda client: _describe(client, names))


@topics.command("create")
@bootstrap_option
@click.option("--partitions", default=-1, help="Not given: the broker's default.")
@click.option("--replication-factor", default=-1, help="Not given: the broker's default.")
@click.option(
    "--config",
    "configs",
    multiple=True,
    metavar="NAME=VALUE",
    help="A configuration of the topic; may be given several times.",
)
@click.argument("name")
def create(
    bootstrap: str, partitions: int, replication_factor: int, configs: Sequence[str], name: str
) -> None:
    """Create one topic."""
    for config in configs:
        if "=" not in config:
            raise click.UsageError(f"--config {config!r} is not NAME=VALUE")
    pairs = [config.partition("=") for config in configs]
    topic = m.CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication_factor,
        configs=[m.CreatableTopicConfig(name=key, value=value) for key, _, value in pairs],
    )

    async def work(client: WireClient) -> None:
        answer: m.CreateTopicsResponse = await client.ask(
            ApiKey.CREATE_TOPICS, m.CreateTopicsRequest(topics=[topic], timeout_ms=_TIMEOUT_MS)
        )
        for result in answer.topics:
            check_answer(f"topic {name}", result.error_code, result.error_message)
        click.echo(f"created topic {name}")

    with_client(bootstrap, work)


@topics.command("delete")
@bootstrap_option
@click.argument("name")
def delete(bootstrap: str, name: str) -> None:
    """Delete one topic and all its records."""

    async def work(client: WireClient) -> None:
        body = m.DeleteTopicsRequest(
            topics=[m.DeleteTopicState(name=name)], topic_names=[name], timeout_ms=_TIMEOUT_MS
        )
        answer: m.DeleteTopicsResponse = await client.ask(ApiKey.DELETE_TOPICS, body)
        for result in answer.responses:
            check_answer(f"topic {name}", result.error_code, result.error_message)
        click.echo(f"deleted topic {name}")

    with_client(bootstrap, work)


async def _describe(client: WireClient, names: Sequence[str]) -> None:
    for topic in await _all_pages(client, names):
        check_answer(f"topic {topic.name}", topic.error_code)
        configs = await _set_configs(client, topic.name or "")
        replicas = len(topic.partitions[0].replica_nodes) if topic.partitions else 0
        click.echo(
            f"topic: {topic.name}  id: {text_of_id(topic.topic_id)}  "
            f"partitions: {len(topic.partitions)}  replication factor: {replicas}  "
            f"configs: {configs}"
        )
        for part in topic.partitions:
            offline = f"  offline: {_join(part.offline_replicas)}" if part.offline_replicas else ""
            leader = part.leader_id if part.leader_id >= 0 else "none"
            click.echo(
                f"  partition: {part.partition_index}  leader: {leader}  "
                f"epoch: {part.leader_epoch}  replicas: {_join(part.replica_nodes)}  "
                f"isr: {_join(part.isr_nodes)}  elr: {_join(part.eligible_leader_replicas or ())}"
                f"{offline}"
            )


async def _all_pages(
    client: WireClient, names: Sequence[str]
) -> list[m.DescribeTopicPartitionsResponseTopic]:
    """By name, each with all its partitions in order, however many answers they came in."""
    found: dict[str | None, m.DescribeTopicPartitionsResponseTopic] = {}
    request = m.DescribeTopicPartitionsRequest(
        topics=[m.DescribeTopicPartitionsRequestTopicRequest(name=name) for name in names],
        response_partition_limit=_PAGE,
        cursor=None,
    )
    while True:
        answer: m.DescribeTopicPartitionsResponse = await client.ask(
            ApiKey.DESCRIBE_TOPIC_PARTITIONS, request
        )
        for topic in answer.topics:
            if topic.name in found:
                found[topic.name].partitions += topic.partitions
            else:
                found[topic.name] = topic
        if answer.next_cursor is None:
            return list(found.values())
        request.cursor = m.DescribeTopicPartitionsRequestCursor(
            topic_name=answer.next_cursor.topic_name,
            partition_index=answer.next_cursor.partition_index,
        )


async def _set_configs(client: WireClient, name: str) -> str:
    resource = m.DescribeConfigsResource(
        resource_type=_TOPIC_RESOURCE, resource_name=name, configuration_keys=None
    )
    answer: m.DescribeConfigsResponse = await client.ask(
        ApiKey.DESCRIBE_CONFIGS, m.DescribeConfigsRequest(resources=[resource])
    )
    entries = [
        f"{entry.name}={entry.value}"
        for result in answer.results
        for entry in result.configs
        if entry.config_source == _TOPIC_SOURCE
    ]
    return ",".join(entries) or "none"


def _join(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers)) or "none"
