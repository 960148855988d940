"""`broker topics`: looks at a running broker's topics over the wire, and makes and deletes them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import click

from broker.cli.errors import FindingError
from broker.cli.wire_client import WireClient
from broker.log.identity import text_of_id
from broker.network.interface import Address
from broker.network.sockets import SocketNetwork
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import error_name

_TIMEOUT_MS = 30000
_TOPIC_RESOURCE = 2
_TOPIC_SOURCE = 1

bootstrap_option = click.option(
    "--bootstrap", required=True, metavar="HOST:PORT", help="A broker's address."
)


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

    _with_client(bootstrap, work)


@topics.command("describe")
@bootstrap_option
@click.argument("names", nargs=-1)
def describe(bootstrap: str, names: Sequence[str]) -> None:
    """Print partitions, leaders and configurations of the named topics, or of all."""
    _with_client(bootstrap, lambda client: _describe(client, names))


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
            _check(f"topic {name}", result.error_code, result.error_message)
        click.echo(f"created topic {name}")

    _with_client(bootstrap, work)


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
            _check(f"topic {name}", result.error_code, result.error_message)
        click.echo(f"deleted topic {name}")

    _with_client(bootstrap, work)


async def _describe(client: WireClient, names: Sequence[str]) -> None:
    asked = [m.MetadataRequestTopic(name=name) for name in names] or None
    answer: m.MetadataResponse = await client.ask(
        ApiKey.METADATA, m.MetadataRequest(topics=asked, allow_auto_topic_creation=False)
    )
    for topic in sorted(answer.topics, key=lambda topic: topic.name or ""):
        _check(f"topic {topic.name}", topic.error_code, None)
        configs = await _set_configs(client, topic.name or "")
        replicas = len(topic.partitions[0].replica_nodes) if topic.partitions else 0
        click.echo(
            f"topic: {topic.name}  id: {text_of_id(topic.topic_id)}  "
            f"partitions: {len(topic.partitions)}  replication factor: {replicas}  "
            f"configs: {configs}"
        )
        for part in sorted(topic.partitions, key=lambda part: part.partition_index):
            offline = f"  offline: {part.offline_replicas}" if part.offline_replicas else ""
            leader = part.leader_id if part.leader_id >= 0 else "none"
            click.echo(
                f"  partition: {part.partition_index}  leader: {leader}  "
                f"epoch: {part.leader_epoch}  replicas: {_join(part.replica_nodes)}  "
                f"isr: {_join(part.isr_nodes)}{offline}"
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
    return ",".join(map(str, numbers))


def _check(what: str, code: int, message: str | None) -> None:
    if code:
        raise FindingError(f"{what}: {error_name(code)}" + (f": {message}" if message else ""))


def _with_client(bootstrap: str, work: Callable[[WireClient], Awaitable[None]]) -> None:
    host, _, port = bootstrap.rpartition(":")
    if not host or not (port.isascii() and port.isdigit() and int(port[:6]) <= 65535):
        raise click.UsageError(f"--bootstrap {bootstrap!r} is not HOST:PORT")

    async def run() -> None:
        client = await WireClient.connect(SocketNetwork(), Address(host.strip("[]"), int(port)))
        try:
            await work(client)
        finally:
            client.close()

    asyncio.run(run())
