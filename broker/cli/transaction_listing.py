"""`broker transactions list` and `describe`: what the coordinators know of transactional ids."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import NamedTuple

import click

from broker.cli.bootstrap import bootstrap_option, check_answer
from broker.cli.cluster_client import (
    TRANSACTION_KEY,
    ClusterClient,
    timeout_option,
    with_cluster,
)
from broker.cli.errors import FindingError, UnreachableFailure
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode, error_name

_ASK_AGAIN = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE)
_NO_TIME = -1


class ListedTransaction(NamedTuple):
    transactional_id: str
    state: str
    producer_id: int
    coordinator: int


@click.command("list")
@bootstrap_option
@timeout_option
@click.option(
    "--state", "states", multiple=True, help="Only transactions in this state, such as Ongoing."
)
@click.option(
    "--running-longer-than-ms",
    "duration_ms",
    type=click.IntRange(min=0),
    help="Only transactions that are open for longer than this.",
)
@click.option("--json", "as_json", is_flag=True, help="A JSON array with one object per id.")
def list_transactions(
    bootstrap: str,
    timeout_s: float,
    states: Sequence[str],
    duration_ms: int | None,
    as_json: bool,
) -> None:
    """Print the transactional ids of the cluster with their state, sorted by name."""

    async def work(cluster: ClusterClient) -> None:
        body = m.ListTransactionsRequest(
            state_filters=list(states),
            producer_id_filters=[],
            duration_filter=-1 if duration_ms is None else duration_ms,
        )
        found = await all_transactions(cluster, body)
        if as_json:
            click.echo(json.dumps([_json(each) for each in found]))
            return
        for each in found:
            click.echo(
                f"transactional id: {each.transactional_id}  state: {each.state}  "
                f"producer id: {each.producer_id}  coordinator: {each.coordinator}"
            )

    with_cluster(bootstrap, timeout_s, work)


async def all_transactions(
    cluster: ClusterClient, body: m.ListTransactionsRequest
) -> list[ListedTransaction]:
    """Sorted by id. A broker that cannot answer yet is asked again: a list without its
    transactions would look complete."""
    rests = cluster.rests("the transactions could not be listed")
    while True:
        found: list[ListedTransaction] = []
        problem = None
        for broker in (await cluster.metadata()).brokers:
            address = cluster.address_of(broker.node_id)
            assert address is not None
            try:
                answer: m.ListTransactionsResponse = await cluster.ask(
                    address, ApiKey.LIST_TRANSACTIONS, body
                )
            except UnreachableFailure as failure:
                problem = str(failure)
                continue
            if answer.error_code in _ASK_AGAIN:
                problem = f"node {broker.node_id}: {error_name(answer.error_code)}"
                continue
            check_answer(f"the transactions of node {broker.node_id}", answer.error_code)
            if answer.unknown_state_filters:
                raise click.UsageError(
                    f"no transaction is ever in state {answer.unknown_state_filters[0]!r}"
                )
            found += [
                ListedTransaction(
                    each.transactional_id,
                    each.transaction_state,
                    each.producer_id,
                    broker.node_id,
                )
                for each in answer.transaction_states
            ]
        if problem is None:
            return sorted(found)
        await rests.rest(problem)


@click.command("describe")
@bootstrap_option
@timeout_option
@click.option("--json", "as_json", is_flag=True, help="A JSON object.")
@click.argument("transactional_id", metavar="ID")
def describe(bootstrap: str, timeout_s: float, as_json: bool, transactional_id: str) -> None:
    """Print the state of a transactional id and the partitions of its open transaction."""

    async def work(cluster: ClusterClient) -> None:
        found = await described(cluster, transactional_id)
        if found is None:
            raise FindingError(
                f"transactional id {transactional_id!r} does not exist; "
                "see: broker transactions list"
            )
        node = await cluster.coordinator(transactional_id, TRANSACTION_KEY)
        partitions = [
            f"{topic.topic}-{index}" for topic in found.topics for index in topic.partitions
        ]
        shown = {
            "transactionalId": transactional_id,
            "coordinator": node.node_id,
            "producerId": found.producer_id,
            "producerEpoch": found.producer_epoch,
            "state": found.transaction_state,
            "timeoutMs": found.transaction_timeout_ms,
            "openForMs": _open_for_ms(found),
            "partitions": partitions,
        }
        if as_json:
            click.echo(json.dumps(shown))
            return
        open_for = "none" if shown["openForMs"] is None else f"{shown['openForMs']} ms"
        click.echo(
            f"transactional id: {transactional_id}\n"
            f"state: {found.transaction_state}\n"
            f"producer id: {found.producer_id}  epoch: {found.producer_epoch}\n"
            f"coordinator: {node.node_id}\n"
            f"timeout: {found.transaction_timeout_ms} ms  open for: {open_for}\n"
            f"partitions: {', '.join(partitions) or 'none'}"
        )

    with_cluster(bootstrap, timeout_s, work)


async def described(
    cluster: ClusterClient, transactional_id: str
) -> m.DescribeTransactionsResponseTransactionState | None:
    """None for an id that its coordinator does not know."""
    answered = await cluster.ask_coordinator(
        transactional_id,
        ApiKey.DESCRIBE_TRANSACTIONS,
        m.DescribeTransactionsRequest(transactional_ids=[transactional_id]),
        lambda answer: [each.error_code for each in answer.transaction_states],
        key_type=TRANSACTION_KEY,
    )
    [state] = answered.answer.transaction_states
    if state.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
        return None
    check_answer(f"transactional id {transactional_id}", state.error_code)
    found: m.DescribeTransactionsResponseTransactionState = state
    return found


def _open_for_ms(state: m.DescribeTransactionsResponseTransactionState) -> int | None:
    start_ms = state.transaction_start_time_ms
    return None if start_ms == _NO_TIME else max(int(time.time() * 1000) - start_ms, 0)


def _json(each: ListedTransaction) -> dict[str, str | int]:
    return {
        "transactionalId": each.transactional_id,
        "state": each.state,
        "producerId": each.producer_id,
        "coordinator": each.coordinator,
    }
