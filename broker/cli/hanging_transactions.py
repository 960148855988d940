"""`broker transactions find-hanging` and `abort`: transactions that no coordinator will end.

A transaction hangs when it is open in a partition and its coordinator does not know that it is.
Readers of committed records stop there for ever. Brokers verify transactions since KIP-890, so none
should come to be; a broker without the verification, or a lost `__transaction_state`, leaves some.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import click

from broker.cli.bootstrap import bootstrap_option
from broker.cli.cluster_client import ClusterClient, timeout_option, with_cluster
from broker.cli.errors import EnvironmentFailure, FindingError
from broker.cli.log_offsets import PartitionName, partitions_of
from broker.cli.partition_producers import leader_of, producers_of
from broker.cli.transaction_listing import all_transactions, described
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode, error_name

_NOT_OPEN = -1
_ALL_DURATIONS = -1
_MINUTE_MS = 60_000


class OpenTransaction(NamedTuple):
    partition: PartitionName
    producer: m.ProducerState


@click.command("find-hanging")
@bootstrap_option
@timeout_option
@click.option("--topic", help="Only in this topic; in all topics if it is left out.")
@click.option(
    "--partition", type=click.IntRange(min=0), help="Only in this partition of the topic."
)
@click.option(
    "--max-transaction-timeout",
    "max_timeout_min",
    type=click.IntRange(min=0),
    default=15,
    show_default=True,
    metavar="MINUTES",
    help="Producers that wrote more recently may still end their transaction themselves.",
)
def find_hanging(
    bootstrap: str, timeout_s: float, topic: str | None, partition: int | None, max_timeout_min: int
) -> None:
    """Print transactions that are open in a partition and unknown to every coordinator.

    Exits with 1 if there is one.
    """
    if partition is not None and topic is None:
        raise click.UsageError("--partition needs --topic")

    async def work(cluster: ClusterClient) -> None:
        wanted = await _wanted(cluster, topic, partition)
        old_ms = int(time.time() * 1000) - max_timeout_min * _MINUTE_MS
        candidates = [
            OpenTransaction(where, each)
            for where, producers in sorted((await producers_of(cluster, wanted)).items())
            for each in producers
            if each.current_txn_start_offset != _NOT_OPEN and each.last_timestamp <= old_ms
        ]
        hanging = await _unknown_to_coordinators(cluster, candidates)
        for where, each in hanging:
            click.echo(
                f"partition: {where}  start offset: {each.current_txn_start_offset}  "
                f"producer id: {each.producer_id}  epoch: {each.producer_epoch}  "
                f"coordinator epoch: {each.coordinator_epoch}"
            )
        if hanging:
            raise FindingError(f"{len(hanging)} hanging; end each with: broker transactions abort")

    with_cluster(bootstrap, timeout_s, work)


async def _wanted(
    cluster: ClusterClient, topic: str | None, partition: int | None
) -> list[PartitionName]:
    names = [topic] if topic is not None else await _all_topics(cluster)
    known = await partitions_of(cluster, names)
    found = [PartitionName(name, index) for name, some in known.items() for index in some]
    if partition is None:
        return found
    if PartitionName(topic or "", partition) not in found:
        raise FindingError(f"topic {topic!r} has no partition {partition}")
    return [PartitionName(topic or "", partition)]


async def _all_topics(cluster: ClusterClient) -> list[str]:
    answer: m.MetadataResponse = await cluster.ask_any(
        ApiKey.METADATA, m.MetadataRequest(topics=None, allow_auto_topic_creation=False)
    )
    return [each.name or "" for each in answer.topics]


async def _unknown_to_coordinators(
    cluster: ClusterClient, candidates: list[OpenTransaction]
) -> list[OpenTransaction]:
    if not candidates:
        return []
    body = m.ListTransactionsRequest(
        state_filters=[],
        producer_id_filters=sorted({each.producer.producer_id for each in candidates}),
        duration_filter=_ALL_DURATIONS,
    )
    known: set[tuple[int, PartitionName]] = set()
    for listed in await all_transactions(cluster, body):
        state = await described(cluster, listed.transactional_id)
        if state is not None:
            known |= {
                (state.producer_id, PartitionName(topic.topic, index))
                for topic in state.topics
                for index in topic.partitions
            }
    return [each for each in candidates if (each.producer.producer_id, each.partition) not in known]


@click.command("abort")
@bootstrap_option
@timeout_option
@click.option("--topic", required=True)
@click.option("--partition", type=click.IntRange(min=0), required=True)
@click.option(
    "--start-offset",
    type=click.IntRange(min=0),
    required=True,
    help="Where the transaction begins, as find-hanging prints it.",
)
def abort(bootstrap: str, timeout_s: float, topic: str, partition: int, start_offset: int) -> None:
    """Abort the transaction that begins at an offset of a partition, in that partition only.

    Only for a hanging transaction: one that its coordinator knows would be torn.
    """
    where = PartitionName(topic, partition)

    async def work(cluster: ClusterClient) -> None:
        await _wanted(cluster, topic, partition)
        producers = (await producers_of(cluster, [where]))[where]
        found = [each for each in producers if each.current_txn_start_offset == start_offset]
        if not found:
            raise FindingError(f"no transaction is open in {where} since offset {start_offset}")
        await _write_marker(cluster, where, found[0])
        click.echo(f"aborted the transaction of producer {found[0].producer_id} in {where}")

    with_cluster(bootstrap, timeout_s, work)


async def _write_marker(
    cluster: ClusterClient, where: PartitionName, producer: m.ProducerState
) -> None:
    marker = m.WritableTxnMarker(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        transaction_result=False,
        topics=[m.WritableTxnMarkerTopic(name=where.topic, partition_indexes=[where.partition])],
        coordinator_epoch=max(producer.coordinator_epoch, 0),
    )
    address = await leader_of(cluster, where)
    if address is None:
        raise EnvironmentFailure(f"partition {where} has no leader; try again")
    answer: m.WriteTxnMarkersResponse = await cluster.ask(
        address, ApiKey.WRITE_TXN_MARKERS, m.WriteTxnMarkersRequest(markers=[marker])
    )
    code = answer.markers[0].topics[0].partitions[0].error_code
    if code != ErrorCode.NONE:
        raise FindingError(f"the transaction in {where} is not aborted: {error_name(code)}")
