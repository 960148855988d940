"""`broker groups reset-offsets`: moves a group without members to other offsets."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import click

from broker.cli.bootstrap import bootstrap_option
from broker.cli.cluster_client import ClusterClient, timeout_option, with_cluster
from broker.cli.errors import FindingError
from broker.cli.group_id import group_id
from broker.cli.group_offsets import NEWEST_WITH_NAMES, committed_offsets
from broker.cli.group_view import view_group
from broker.cli.log_offsets import (
    EARLIEST,
    LATEST,
    NO_OFFSET,
    PartitionName,
    offsets_of_all,
    partitions_of,
)
from broker.cli.reset_target import (
    LogFigures,
    NothingToShiftError,
    PlannedOffset,
    ResetTarget,
    plan,
    read_target,
    target_options,
)
from broker.cli.topic_scope import Wanted, parse_topics, partitions_in, topic_option
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode, error_name

_EMPTY = "Empty"
_GOT_MEMBERS = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.STALE_MEMBER_EPOCH,
    ErrorCode.REBALANCE_IN_PROGRESS,
)
"""What a commit without a member is answered when the group has members by now."""


class _Move(NamedTuple):
    log: LogFigures
    planned: PlannedOffset


@click.command("reset-offsets")
@bootstrap_option
@timeout_option
@topic_option
@click.option("--all-topics", is_flag=True, help="All partitions that the group has offsets of.")
@target_options
@click.option("--execute", is_flag=True, help="Commit the offsets. Without it, print them only.")
@click.option("--dry-run", is_flag=True, help="Print only. This is the default.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.argument("group", type=group_id)
def reset_offsets(
    bootstrap: str,
    timeout_s: float,
    topics: Sequence[str],
    all_topics: bool,
    execute: bool,
    dry_run: bool,
    as_json: bool,
    group: str,
    **target: Any,
) -> None:
    """Print, and with --execute commit, other offsets for a group that has no members.

    A group that does not exist is created. Offsets outside of the log are moved to its first or
    last one, with a sentence that says so.
    """
    if execute and dry_run:
        raise click.UsageError("choose one of --execute and --dry-run")
    if bool(topics) == all_topics:
        raise click.UsageError("give --topic TOPIC[:P,...] or --all-topics")
    wanted = parse_topics(topics)
    to = read_target(**target)

    async def work(cluster: ClusterClient) -> None:
        await _check_is_idle(cluster, group)
        moves = await _plan(cluster, group, None if all_topics else wanted, to)
        if execute:
            await _commit(cluster, group, moves)
        if as_json:
            click.echo(json.dumps(_json(group, moves, is_executed=execute)))
        else:
            _print(group, moves, is_executed=execute)

    with_cluster(bootstrap, timeout_s, work)


async def _check_is_idle(cluster: ClusterClient, group: str) -> None:
    """Members would overwrite the new offsets with their own, or never look at them."""
    view = await view_group(cluster, group)
    if view is not None and (view.members or view.state != _EMPTY):
        raise FindingError(
            f"group {group!r} is {view.state} with {_count(len(view.members), 'member')}; "
            "stop its consumers, and wait until their sessions have ended"
        )


async def _plan(
    cluster: ClusterClient, group: str, wanted: Wanted | None, to: ResetTarget
) -> list[_Move]:
    """`wanted` of None means all partitions that the group has committed offsets of."""
    committed = await committed_offsets(cluster, group)
    if wanted is not None:
        partitions = partitions_in(wanted, await partitions_of(cluster, wanted))
    elif committed:
        partitions = list(committed)
    else:
        raise FindingError(f"group {group!r} has no committed offsets; give --topic")
    logs = await _figures(cluster, partitions, committed, to)
    try:
        return [_Move(log, plan(to, log)) for log in logs]
    except NothingToShiftError as problem:
        raise FindingError(f"group {group!r}: {problem}; use another option for it") from None


async def _figures(
    cluster: ClusterClient,
    partitions: Collection[PartitionName],
    committed: dict[PartitionName, int],
    to: ResetTarget,
) -> list[LogFigures]:
    earliest = await offsets_of_all(cluster, partitions, EARLIEST)
    latest = await offsets_of_all(cluster, partitions, LATEST)
    by_time: dict[PartitionName, int] = {}
    timestamp_ms = to.timestamp_ms(time.time_ns() // 1_000_000)
    if timestamp_ms is not None:
        by_time = await offsets_of_all(cluster, partitions, timestamp_ms)
    return [
        LogFigures(
            each, committed.get(each), earliest[each], latest[each], by_time.get(each, NO_OFFSET)
        )
        for each in partitions
    ]


async def _commit(cluster: ClusterClient, group: str, moves: Sequence[_Move]) -> None:
    topics: dict[str, list[m.OffsetCommitRequestPartition]] = {}
    for move in moves:
        topic, index = move.log.partition
        topics.setdefault(topic, []).append(
            m.OffsetCommitRequestPartition(
                partition_index=index, committed_offset=move.planned.offset, committed_metadata=""
            )
        )
    body = m.OffsetCommitRequest(
        group_id=group,
        member_id="",
        topics=[
            m.OffsetCommitRequestTopic(name=name, partitions=each) for name, each in topics.items()
        ],
    )
    answered = await cluster.ask_coordinator(
        group, ApiKey.OFFSET_COMMIT, body, _codes, newest=NEWEST_WITH_NAMES
    )
    for topic in answered.answer.topics:
        for part in topic.partitions:
            if part.error_code in _GOT_MEMBERS:
                raise FindingError(
                    f"group {group!r} has members since a moment ago, and its offsets are as they "
                    f"were ({error_name(part.error_code)}); stop its consumers"
                )
            if part.error_code:
                where = PartitionName(topic.name, part.partition_index)
                raise FindingError(
                    f"group {group!r}: the offset of {where} was not committed: "
                    f"{error_name(part.error_code)}; see: broker groups describe {group}"
                )


def _codes(answer: m.OffsetCommitResponse) -> list[int]:
    return [part.error_code for topic in answer.topics for part in topic.partitions]


def _json(group: str, moves: Sequence[_Move], *, is_executed: bool) -> dict[str, Any]:
    return {
        "group": group,
        "executed": is_executed,
        "offsets": [
            {
                "topic": log.partition.topic,
                "partition": log.partition.partition,
                "committedOffset": log.committed,
                "newOffset": planned.offset,
                "logStartOffset": log.earliest,
                "logEndOffset": log.latest,
                "note": planned.note,
            }
            for log, planned in moves
        ],
    }


def _print(group: str, moves: Sequence[_Move], *, is_executed: bool) -> None:
    for log, planned in moves:
        before = "none" if log.committed is None else log.committed
        note = f"  note: {planned.note}" if planned.note else ""
        click.echo(
            f"partition: {log.partition}  from: {before}  to: {planned.offset}  "
            f"lag: {log.latest - planned.offset}{note}"
        )
    offsets = f"{_count(len(moves), 'offset')} of group {group}"
    if is_executed:
        click.echo(f"committed {offsets}")
    else:
        click.echo(f"nothing is changed; add --execute to commit {offsets}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
