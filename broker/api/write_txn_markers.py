"""WriteTxnMarkers: a transaction coordinator ends a transaction in the partitions of this broker.

Each marker is appended to its partition and answered when all in-sync replicas have it, as a
produce with acks=all. The coordinator repeats what was not answered, so a marker may come twice.

A producer of transaction version 2 begins each transaction with a new epoch, and the marker that
ends one carries the next epoch already (KIP-890). Such a marker is written at most once: when its
epoch is known here, its transaction has ended. Kafka answers a repeated one with
INVALID_PRODUCER_EPOCH, which a coordinator cannot tell from being fenced (KAFKA-19999).
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from broker.api.leadership import partition_to_serve
from broker.api.request import Request
from broker.log.origin import Origin
from broker.log.record_check import WorkBudget
from broker.partition import Partition
from broker.protocol import messages as m
from broker.protocol.control import EndTransactionMarker, build_marker_batch
from broker.protocol.errors import ErrorCode, KafkaError
from broker.replication.leader import ACKS_ALL

if TYPE_CHECKING:
    from broker.node import Node

_FIRST_VERSION_WITH_EPOCHS = 2
"""The transaction version from which on each transaction has an epoch of its own."""

_Outcome = tuple[m.WritableTxnMarkerPartitionResult, asyncio.Future[ErrorCode]]


class _AlreadyEndedError(Exception):
    """An earlier copy of the marker is in the log."""


async def write_txn_markers(
    node: Node, request: Request[m.WriteTxnMarkersRequest]
) -> m.WriteTxnMarkersResponse:
    """All markers are appended before the first one is waited for."""
    response = m.WriteTxnMarkersResponse(markers=[])
    appended: list[_Outcome] = []
    for marker in request.body.markers:
        topics: list[m.WritableTxnMarkerTopicResult] = []
        response.markers.append(
            m.WritableTxnMarkerResult(producer_id=marker.producer_id, topics=topics)
        )
        for topic in marker.topics:
            answers: list[m.WritableTxnMarkerPartitionResult] = []
            topics.append(m.WritableTxnMarkerTopicResult(name=topic.name, partitions=answers))
            for index in topic.partition_indexes:
                await request.pause()
                answer = m.WritableTxnMarkerPartitionResult(partition_index=index)
                answers.append(answer)
                try:
                    appended.append((answer, await _end(node, marker, topic.name, index)))
                except KafkaError as error:
                    answer.error_code = error.code
    request.will_wait()
    for answer, outcome in appended:
        answer.error_code = await outcome
    return response


async def _end(
    node: Node, marker: m.WritableTxnMarker, topic: str, index: int
) -> asyncio.Future[ErrorCode]:
    """Done when the marker is replicated. Raises KafkaError when it cannot be written."""
    partition = partition_to_serve(node, topic, index)
    partition.check_acks(ACKS_ALL)
    with suppress(_AlreadyEndedError):  # perhaps not replicated yet: the answer waits for that
        await _append(node, marker, partition)
    return partition.committed(partition.log.end_offset, node.config.request_timeout_ms / 1000)


async def _append(node: Node, marker: m.WritableTxnMarker, partition: Partition) -> None:
    batch = memoryview(
        build_marker_batch(
            EndTransactionMarker(marker.transaction_result, marker.coordinator_epoch),
            producer_id=marker.producer_id,
            producer_epoch=marker.producer_epoch,
            time_ms=node.world.clock.now_ms(),
        )
    )

    def check() -> None:
        _check_epoch(partition, marker)

    check()
    if partition.append_at_once(batch, WorkBudget(), Origin.COORDINATOR) is None:
        await partition.append_own(batch, partition.lead().leader_epoch, check)


def _check_epoch(partition: Partition, marker: m.WritableTxnMarker) -> None:
    """What only markers of transaction version 2 allow to find out; the log checks the rest."""
    if marker.transaction_version < _FIRST_VERSION_WITH_EPOCHS:
        return
    known = partition.log.producers.producers.get(marker.producer_id)
    if known is None or known.epoch != marker.producer_epoch:
        return
    if known.txn_first_offset is None and known.coordinator_epoch >= 0:
        raise _AlreadyEndedError
    raise KafkaError(
        ErrorCode.INVALID_PRODUCER_EPOCH,
        f"producer {marker.producer_id} has begun another transaction with epoch "
        f"{marker.producer_epoch}, so the marker comes late",
    )
