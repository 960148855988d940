"""`broker groups`: consumer groups of a running cluster, of either protocol."""

from __future__ import annotations

from collections.abc import Sequence

import click

from broker.cli.bootstrap import bootstrap_option
from broker.cli.cluster_client import ClusterClient, timeout_option, with_cluster
from broker.cli.errors import FindingError
from broker.cli.group_describe import describe
from broker.cli.group_id import group_id
from broker.cli.group_listing import list_groups
from broker.cli.group_offsets import committed_offsets
from broker.cli.group_reset import reset_offsets
from broker.cli.log_offsets import PartitionName
from broker.cli.topic_scope import Wanted, parse_topics, topic_option
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode, error_name

_REASONS: dict[int, str] = {
    ErrorCode.NON_EMPTY_GROUP: "it has members; stop its consumers first",
    ErrorCode.GROUP_ID_NOT_FOUND: "it does not exist; see: broker groups list",
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: "a member is subscribed to the topic; stop it first",
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "there is no such partition",
}


@click.group()
def groups() -> None:
    """Consumer groups of a running cluster."""


groups.add_command(list_groups)
groups.add_command(describe)
groups.add_command(reset_offsets)


@groups.command("delete")
@bootstrap_option
@timeout_option
@click.argument("names", metavar="GROUP...", nargs=-1, required=True, type=group_id)
def delete(bootstrap: str, timeout_s: float, names: Sequence[str]) -> None:
    """Delete groups without members, and their offsets."""

    async def work(cluster: ClusterClient) -> None:
        problems = []
        for name in dict.fromkeys(names):
            problem = await _delete(cluster, name)
            if problem is None:
                click.echo(f"deleted group {name}")
            else:
                problems.append(f"group {name!r} is not deleted: {problem}")
        if problems:
            raise FindingError("\n".join(problems))

    with_cluster(bootstrap, timeout_s, work)


async def _delete(cluster: ClusterClient, name: str) -> str | None:
    """The reason why it is not deleted."""
    answered = await cluster.ask_coordinator(
        name,
        ApiKey.DELETE_GROUPS,
        m.DeleteGroupsRequest(groups_names=[name]),
        lambda answer: [each.error_code for each in answer.results],
    )
    [result] = answered.answer.results
    if result.error_code == ErrorCode.GROUP_ID_NOT_FOUND and answered.is_repeated:
        return None  # by the attempt before, whose answer was lost
    return _reason(result.error_code)


@groups.command("delete-offsets")
@bootstrap_option
@timeout_option
@topic_option
@click.argument("group", type=group_id)
def delete_offsets(bootstrap: str, timeout_s: float, topics: Sequence[str], group: str) -> None:
    """Delete the offsets of topics that no member of the group is subscribed to."""
    if not topics:
        raise click.UsageError("give --topic TOPIC[:P,...]")
    wanted = parse_topics(topics)

    async def work(cluster: ClusterClient) -> None:
        committed = await committed_offsets(cluster, group)
        partitions = _with_offsets(group, wanted, committed)
        problems = await _delete_offsets(cluster, group, partitions)
        for each in partitions:
            if each not in problems:
                click.echo(f"deleted offset {committed[each]} of {each}")
        if problems:
            raise FindingError(
                "\n".join(
                    f"the offset of {each} is not deleted: {why}" for each, why in problems.items()
                )
            )

    with_cluster(bootstrap, timeout_s, work)


def _with_offsets(
    group: str, wanted: Wanted, committed: dict[PartitionName, int]
) -> list[PartitionName]:
    """Raises FindingError for a topic or a partition that has none."""
    found: list[PartitionName] = []
    for topic, partitions in wanted.items():
        there = [each for each in committed if each.topic == topic]
        if partitions is not None:
            there = [PartitionName(topic, each) for each in sorted(partitions)]
        missing = [str(each) for each in there if each not in committed]
        if missing or not there:
            raise FindingError(
                f"group {group!r} has no committed offset of {', '.join(missing) or topic}; "
                f"see: broker groups describe {group}"
            )
        found += there
    return found


async def _delete_offsets(
    cluster: ClusterClient, group: str, partitions: Sequence[PartitionName]
) -> dict[PartitionName, str]:
    """The partitions whose offsets are not deleted, with the reason."""
    topics: dict[str, list[m.OffsetDeleteRequestPartition]] = {}
    for topic, index in partitions:
        topics.setdefault(topic, []).append(m.OffsetDeleteRequestPartition(partition_index=index))
    body = m.OffsetDeleteRequest(
        group_id=group,
        topics=[
            m.OffsetDeleteRequestTopic(name=name, partitions=each) for name, each in topics.items()
        ],
    )
    answered = await cluster.ask_coordinator(
        group, ApiKey.OFFSET_DELETE, body, lambda answer: [answer.error_code]
    )
    answer: m.OffsetDeleteResponse = answered.answer
    whole = _reason(answer.error_code)
    if whole is not None:
        return dict.fromkeys(partitions, whole)
    return {
        PartitionName(topic.name, part.partition_index): why
        for topic in answer.topics
        for part in topic.partitions
        if (why := _reason(part.error_code)) is not None
    }


def _reason(code: int) -> str | None:
    """None for no error."""
    if not code:
        return None
    return f"{_REASONS[code]} ({error_name(code)})" if code in _REASONS else error_name(code)
