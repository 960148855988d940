"""`broker partitions`: gives a partition of a running cluster other replicas or another leader."""

from __future__ import annotations

import click

from broker.cli.bootstrap import bootstrap_option, check_answer, with_client
from broker.cli.wire_client import WireClient
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode

_TIMEOUT_MS = 30000
_PREFERRED, _UNCLEAN = 0, 1


@click.group()
def partitions() -> None:
    """Replicas and leaders of a running cluster's partitions."""


@partitions.command("reassign")
@bootstrap_option
@click.argument("topic")
@click.argument("index", type=click.IntRange(min=0))
@click.argument("replicas", metavar="ID[,ID...]")
def reassign(bootstrap: str, topic: str, index: int, replicas: str) -> None:
    """Give a partition these replicas, the preferred leader first.

    Returns when it is decided; the new replicas copy what they lack afterwards.
    """
    try:
        ids = [int(each) for each in replicas.split(",")]
    except ValueError:
        raise click.UsageError(f"{replicas!r} is no list of node ids such as 1,2,3") from None
    wanted = m.ReassignableTopic(
        name=topic,
        partitions=[m.ReassignablePartition(partition_index=index, replicas=ids)],
    )

    async def work(client: WireClient) -> None:
        answer: m.AlterPartitionReassignmentsResponse = await client.ask(
            ApiKey.ALTER_PARTITION_REASSIGNMENTS,
            m.AlterPartitionReassignmentsRequest(topics=[wanted], timeout_ms=_TIMEOUT_MS),
        )
        check_answer("the reassignment", answer.error_code, answer.error_message)
        for result in answer.responses:
            for part in result.partitions:
                check_answer(f"partition {topic}-{index}", part.error_code, part.error_message)
        click.echo(f"partition {topic}-{index} moves to {replicas}")

    with_client(bootstrap, work)


@partitions.command("elect")
@bootstrap_option
@click.option("--unclean", is_flag=True, help="Any replica that lives, though it may lack records.")
@click.argument("topic")
@click.argument("index", type=click.IntRange(min=0))
def elect(bootstrap: str, unclean: bool, topic: str, index: int) -> None:
    """Make the preferred replica the leader. One that leads already is left alone."""
    body = m.ElectLeadersRequest(
        election_type=_UNCLEAN if unclean else _PREFERRED,
        topic_partitions=[m.ElectLeadersRequestTopicPartitions(topic=topic, partitions=[index])],
        timeout_ms=_TIMEOUT_MS,
    )

    async def work(client: WireClient) -> None:
        answer: m.ElectLeadersResponse = await client.ask(ApiKey.ELECT_LEADERS, body)
        check_answer("the election", answer.error_code)
        for result in answer.replica_election_results:
            for part in result.partition_result:
                if part.error_code != ErrorCode.ELECTION_NOT_NEEDED:
                    check_answer(f"partition {topic}-{index}", part.error_code, part.error_message)
        click.echo(f"partition {topic}-{index} is led by its preferred replica")

    with_client(bootstrap, work)
