"""`broker groups describe`: state, members and lag of groups."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

import click

from broker.cli.bootstrap import bootstrap_option
from broker.cli.cluster_client import ClusterClient, timeout_option, with_cluster
from broker.cli.errors import FindingError
from broker.cli.group_id import group_id
from broker.cli.group_listing import all_groups
from broker.cli.group_offsets import PartitionLag, lags_of
from broker.cli.group_view import CONSUMER, GroupView, MemberView, view_group
from broker.cli.log_offsets import PartitionName


class _Parts(NamedTuple):
    """What is shown of a group beside its state."""

    members: bool
    offsets: bool


@click.command("describe")
@bootstrap_option
@timeout_option
@click.option("--state", "only_state", is_flag=True, help="Only the first line of each group.")
@click.option("--members", "only_members", is_flag=True, help="Without the offsets.")
@click.option("--offsets", "only_offsets", is_flag=True, help="Without the members.")
@click.option("--json", "as_json", is_flag=True, help="A JSON array with one object per group.")
@click.argument("groups", nargs=-1, type=group_id)
def describe(
    bootstrap: str,
    timeout_s: float,
    only_state: bool,
    only_members: bool,
    only_offsets: bool,
    as_json: bool,
    groups: Sequence[str],
) -> None:
    """Print state, members, committed offsets and lag of the named groups, or of all.

    The lag of a partition is its log end (the high watermark) minus the committed offset.
    """
    if only_state + only_members + only_offsets > 1:
        raise click.UsageError("choose one of --state, --members and --offsets, or none for all")
    is_everything = not (only_state or only_members or only_offsets)
    parts = _Parts(only_members or is_everything, only_offsets or is_everything)

    async def work(cluster: ClusterClient) -> None:
        names = groups or [each.group_id for each in await all_groups(cluster)]
        shown, missing = [], []
        for name in dict.fromkeys(names):
            view = await view_group(cluster, name)
            if view is None:
                missing.append(name)
                continue
            lags = await lags_of(cluster, view) if parts.offsets else []
            if as_json:
                shown.append(_json(view, lags, parts))
            else:
                _print(view, lags, parts)
        if as_json:
            click.echo(json.dumps(shown))
        # A group may end between the list and its description.
        if groups and missing:
            raise FindingError(
                "\n".join(
                    f"group {each!r} does not exist; see: broker groups list" for each in missing
                )
            )

    with_cluster(bootstrap, timeout_s, work)


# For programs


def _json(view: GroupView, lags: list[PartitionLag], parts: _Parts) -> dict[str, Any]:
    host, port = view.coordinator.address
    found: dict[str, Any] = {
        "group": view.group_id,
        "type": view.kind,
        "state": view.state,
        "protocolType": view.protocol_type,
        "assignor": view.assignor,
        "epoch": view.epoch,
        "assignmentEpoch": view.assignment_epoch,
        "coordinator": {"nodeId": view.coordinator.node_id, "host": host, "port": port},
        "memberCount": len(view.members),
    }
    if parts.members:
        found["members"] = [_member_json(each) for each in view.members]
    if parts.offsets:
        found["offsets"] = [
            {
                "topic": each.partition.topic,
                "partition": each.partition.partition,
                "committedOffset": each.committed,
                "logEndOffset": each.log_end,
                "lag": each.lag,
                "owners": each.owners,
            }
            for each in lags
        ]
        found["lag"] = _total(lags)
    return found


def _member_json(member: MemberView) -> dict[str, Any]:
    return {
        "memberId": member.member_id,
        "instanceId": member.instance_id,
        "clientId": member.client_id,
        "host": member.host,
        "protocol": member.protocol,
        "epoch": member.epoch,
        "assignment": _partitions_json(member.assignment),
        "targetAssignment": _partitions_json(member.target),
    }


def _partitions_json(partitions: Sequence[PartitionName] | None) -> list[dict[str, Any]] | None:
    if partitions is None:
        return None
    return [{"topic": topic, "partitions": numbers} for topic, numbers in _by_topic(partitions)]


# For people


def _print(view: GroupView, lags: list[PartitionLag], parts: _Parts) -> None:
    node = view.coordinator
    epochs = ""
    if view.kind == CONSUMER:
        epochs = f"  epoch: {view.epoch}  assignment epoch: {view.assignment_epoch}"
    total = f"  lag: {_total(lags)}" if parts.offsets else ""
    click.echo(
        f"group: {view.group_id}  type: {view.kind}  state: {view.state}  "
        f"protocol: {view.protocol_type or 'none'}  assignor: {view.assignor or 'none'}{epochs}  "
        f"members: {len(view.members)}{total}  coordinator: {node.node_id} ({node.address})"
    )
    for member in view.members if parts.members else ():
        click.echo(_member_line(member))
    for each in lags:
        click.echo(
            f"  partition: {each.partition}  committed: {_shown(each.committed, 'none')}  "
            f"log end: {_shown(each.log_end, 'unknown')}  lag: {_shown(each.lag, 'unknown')}  "
            f"owner: {','.join(each.owners) or 'none'}"
        )


def _member_line(member: MemberView) -> str:
    instance = f"  instance id: {member.instance_id}" if member.instance_id else ""
    epoch = "" if member.epoch is None else f"  epoch: {member.epoch}"
    target = ""
    if member.target is not None and member.target != member.assignment:
        target = f"  target: {_partitions_text(member.target)}"
    return (
        f"  member: {member.member_id}{instance}  client id: {member.client_id}  "
        f"host: {member.host}{epoch}  assignment: {_partitions_text(member.assignment)}{target}"
    )


def _partitions_text(partitions: Sequence[PartitionName] | None) -> str:
    """`t:0,1 u:3`, as `--topic` of other commands takes them."""
    if partitions is None:
        return "unknown"
    texts = [f"{topic}:{','.join(map(str, numbers))}" for topic, numbers in _by_topic(partitions)]
    return " ".join(texts) or "none"


def _by_topic(partitions: Sequence[PartitionName]) -> list[tuple[str, list[int]]]:
    return [
        (topic, [each.partition for each in some])
        for topic, some in groupby(partitions, key=lambda each: each.topic)
    ]


def _total(lags: Sequence[PartitionLag]) -> int:
    """Of the partitions whose lag is known."""
    return sum(each.lag or 0 for each in lags)


def _shown(number: int | None, otherwise: str) -> str:
    return otherwise if number is None else str(number)
