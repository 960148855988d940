"""`broker groups list`: every broker lists the groups that it coordinates."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import click

from broker.cli.bootstrap import bootstrap_option, check_answer
from broker.cli.cluster_client import ClusterClient, timeout_option, with_cluster
from broker.cli.errors import EnvironmentFailure, UnreachableFailure
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode, error_name

STATES = (
    "Empty",
    "PreparingRebalance",
    "CompletingRebalance",
    "Assigning",
    "Reconciling",
    "Stable",
    "Dead",
    "NotReady",
)
TYPES = ("classic", "consumer", "share", "streams")
"""The last two exist in Apache Kafka only."""

_ASK_AGAIN = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE)


@click.command("list")
@bootstrap_option
@timeout_option
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(STATES, case_sensitive=False),
    help="Only groups in this state; may be given several times.",
)
@click.option(
    "--type",
    "types",
    multiple=True,
    type=click.Choice(TYPES, case_sensitive=False),
    help="Only groups of this type; may be given several times.",
)
@click.option("--json", "as_json", is_flag=True, help="A JSON array with one object per group.")
def list_groups(
    bootstrap: str, timeout_s: float, states: Sequence[str], types: Sequence[str], as_json: bool
) -> None:
    """Print the groups of the cluster with type, state and protocol, sorted by name."""

    async def work(cluster: ClusterClient) -> None:
        found = await all_groups(cluster)
        found = _filtered(found, states, "--state", lambda each: each.group_state)
        found = _filtered(found, types, "--type", lambda each: each.group_type)
        if as_json:
            click.echo(json.dumps([_json(each) for each in found]))
            return
        for each in found:
            click.echo(
                f"group: {each.group_id}  type: {each.group_type or 'unknown'}  "
                f"state: {each.group_state or 'unknown'}  protocol: {each.protocol_type or 'none'}"
            )

    with_cluster(bootstrap, timeout_s, work)


async def all_groups(cluster: ClusterClient) -> list[m.ListedGroup]:
    """Sorted by name. A broker that cannot answer yet is asked again: a list without its groups
    would look complete."""
    rests = cluster.rests("the groups could not be listed")
    while True:
        found: dict[str, m.ListedGroup] = {}
        problem = None
        for broker in (await cluster.metadata()).brokers:
            address = cluster.address_of(broker.node_id)
            assert address is not None
            try:
                answer: m.ListGroupsResponse = await cluster.ask(
                    address, ApiKey.LIST_GROUPS, m.ListGroupsRequest()
                )
            except UnreachableFailure as failure:
                problem = str(failure)
                continue
            if answer.error_code in _ASK_AGAIN:
                problem = f"node {broker.node_id}: {error_name(answer.error_code)}"
                continue
            check_answer(f"the groups of node {broker.node_id}", answer.error_code)
            found |= {each.group_id: each for each in answer.groups}
        if problem is None:
            return sorted(found.values(), key=lambda each: each.group_id)
        await rests.rest(problem)


def _filtered(
    groups: list[m.ListedGroup],
    wanted: Sequence[str],
    option: str,
    value_of: Callable[[m.ListedGroup], str],
) -> list[m.ListedGroup]:
    """Here, not by the broker: brokers before Kafka 3.8 ignore filters that they do not know."""
    if not wanted:
        return groups
    if any(not value_of(each) for each in groups):
        raise EnvironmentFailure(f"this cluster is too old for {option}; leave it out")
    allowed = {each.lower() for each in wanted}
    return [each for each in groups if value_of(each).lower() in allowed]


def _json(group: m.ListedGroup) -> dict[str, str | None]:
    return {
        "group": group.group_id,
        "type": group.group_type or None,
        "state": group.group_state or None,
        "protocolType": group.protocol_type,
    }
