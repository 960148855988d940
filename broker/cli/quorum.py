"""`broker quorum`: who leads a running cluster's metadata quorum, and how far its members are."""

from __future__ import annotations

import json
from collections.abc import Iterable

import click

from broker.cli.bootstrap import bootstrap_option, check_answer, with_client
from broker.cli.errors import FindingError
from broker.cli.wire_client import WireClient
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey

_TOPIC = "__cluster_metadata"
_UNKNOWN = -1


@click.group()
def quorum() -> None:
    """The metadata quorum of a running cluster."""


@quorum.command("describe")
@bootstrap_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def describe(bootstrap: str, as_json: bool) -> None:
    """Print the leader, its epoch, and how far voters and observers are behind it."""

    async def work(client: WireClient) -> None:
        found = _figures(await _ask(client))
        if as_json:
            click.echo(json.dumps(found))
        else:
            _print(found)

    with_client(bootstrap, work)


async def _ask(client: WireClient) -> m.DescribeQuorumResponsePartitionData:
    asked = m.DescribeQuorumRequestTopicData(
        topic_name=_TOPIC, partitions=[m.DescribeQuorumRequestPartitionData(partition_index=0)]
    )
    answer: m.DescribeQuorumResponse = await client.ask(
        ApiKey.DESCRIBE_QUORUM, m.DescribeQuorumRequest(topics=[asked])
    )
    check_answer("the quorum", answer.error_code, answer.error_message)
    parts = [part for topic in answer.topics for part in topic.partitions]
    if len(parts) != 1:
        raise FindingError(f"the quorum: {len(parts)} partitions of {_TOPIC} are told of, not 1")
    check_answer("the quorum", parts[0].error_code, parts[0].error_message)
    return parts[0]


def _figures(part: m.DescribeQuorumResponsePartitionData) -> dict[str, object]:
    """Kafka's names for what it tells, in the words of its quorum tool."""
    replicas = [*part.current_voters, *part.observers]
    ends = {each.replica_id: each.log_end_offset for each in replicas}
    end = ends.get(part.leader_id, part.high_watermark)
    return {
        "leaderId": part.leader_id,
        "leaderEpoch": part.leader_epoch,
        "highWatermark": part.high_watermark,
        "voters": [_replica(each, end) for each in _in_order(part.current_voters)],
        "observers": [_replica(each, end) for each in _in_order(part.observers)],
    }


def _in_order(
    replicas: Iterable[m.DescribeQuorumResponseReplicaState],
) -> list[m.DescribeQuorumResponseReplicaState]:
    return sorted(replicas, key=lambda each: each.replica_id)


def _replica(state: m.DescribeQuorumResponseReplicaState, leader_end: int) -> dict[str, int | None]:
    """None where the leader has not heard from it yet."""
    is_known = state.log_end_offset != _UNKNOWN
    return {
        "nodeId": state.replica_id,
        "logEndOffset": state.log_end_offset if is_known else None,
        "lag": max(0, leader_end - state.log_end_offset) if is_known else None,
        "lastFetchTimestamp": _time(state.last_fetch_timestamp),
        "lastCaughtUpTimestamp": _time(state.last_caught_up_timestamp),
    }


def _time(time_ms: int) -> int | None:
    return None if time_ms == _UNKNOWN else time_ms


def _print(found: dict[str, object]) -> None:
    click.echo(
        f"leader: {found['leaderId']}  epoch: {found['leaderEpoch']}  "
        f"high watermark: {found['highWatermark']}"
    )
    for group, name in (("voters", "voter"), ("observers", "observer")):
        replicas = found[group]
        assert isinstance(replicas, list)
        for each in replicas:
            click.echo(
                f"  {name}: {each['nodeId']}  log end: {_shown(each['logEndOffset'])}  "
                f"lag: {_shown(each['lag'])}"
            )


def _shown(number: int | None) -> str:
    return "unknown" if number is None else str(number)
