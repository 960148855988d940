"""WriteTxnMarkers: a transaction coordinator ends a transaction in the partitions of this broker.

Each marker is appended to its partition and answered when all in-sync replicas have it, as a
produce with acks=all. The coordinator repeats what was not answered, so a marker may come twice.

In a partition of `__consumer_offsets` the marker goes through the shard that coordinates its
groups: the offsets that the transaction has committed count from then on, or are dropped.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from broker.api.leadership import partition_to_serve
from broker.api.request import Request
from broker.coordination.batches import build_marker
from broker.coordination.step import (
    Now,
    ProducerIdAndEpoch,
    Reply,
    Step,
    Ticket,
    TransactionEnd,
    reply,
)
from broker.groups.machine import GroupMachine
from broker.log.marker_check import AlreadyEndedError, check_marker
from broker.log.origin import Origin
from broker.log.producer_state import NO_EPOCH
from broker.log.record_check import WorkBudget
from broker.metadata.internal_topics import GROUPS_TOPIC
from broker.partition import Partition
from broker.protocol import messages as m
from broker.protocol.control import EndTransactionMarker
from broker.protocol.errors import ErrorCode, KafkaError
from broker.replication.leader import ACKS_ALL

if TYPE_CHECKING:
    from broker.node import Node

_Outcome = tuple[m.WritableTxnMarkerPartitionResult, asyncio.Future[Any]]

_TO_BE_REPEATED = frozenset(
    (
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
    )
)
"""Errors of a group coordinator, which a transaction coordinator does not know."""


async def write_txn_markers(
    node: Node, request: Request[m.WriteTxnMarkersRequest]
) -> m.WriteTxnMarkersResponse:
    """All markers are appended before the first one is waited for."""
    response = m.WriteTxnMarkersResponse(markers=[])
    appended: list[_Outcome] = []
    for marker in request.body.markers:
        topics: list[m.WritableTxnMarkerTopicResult] = []
        named = [topic for topic in marker.topics if topic.partition_indexes]
        if named:  # or there is nothing to answer, so Kafka leaves the producer out
            response.markers.append(
                m.WritableTxnMarkerResult(producer_id=marker.producer_id, topics=topics)
            )
        for topic in named:
            answers: list[m.WritableTxnMarkerPartitionResult] = []
            topics.append(m.WritableTxnMarkerTopicResult(name=topic.name, partitions=answers))
            end = _end_in_groups if topic.name == GROUPS_TOPIC else _end
            for index in topic.partition_indexes:
                await request.pause()
                answer = m.WritableTxnMarkerPartitionResult(partition_index=index)
                answers.append(answer)
                try:
                    _check_producer(marker)
                    partition = partition_to_serve(node, topic.name, index)
                    appended.append((answer, await end(node, marker, partition)))
                except KafkaError as error:
                    answer.error_code = _code_for_coordinator(error.code)
    request.will_wait()
    for answer, outcome in appended:
        result = await outcome
        code = result.code if isinstance(result, KafkaError) else result
        answer.error_code = _code_for_coordinator(code)
    return response


def _code_for_coordinator(code: ErrorCode) -> ErrorCode:
    return ErrorCode.NOT_LEADER_OR_FOLLOWER if code in _TO_BE_REPEATED else code


async def _end(
    node: Node, marker: m.WritableTxnMarker, partition: Partition
) -> asyncio.Future[ErrorCode]:
    """Done when the marker is replicated. Raises KafkaError when it cannot be written."""
    partition.check_acks(ACKS_ALL)
    with suppress(AlreadyEndedError):  # perhaps not replicated yet: the answer waits for that
        await _append(node, marker, partition)
    return partition.committed(partition.log.end_offset, node.config.request_timeout_ms / 1000)


async def _append(node: Node, marker: m.WritableTxnMarker, partition: Partition) -> None:
    batch = build_marker(_end_of(marker), node.world.clock.now_ms())

    def check() -> None:
        _check(partition, marker)

    check()
    if partition.append_at_once(batch[0], WorkBudget(), Origin.COORDINATOR, batch) is None:
        await partition.append_own(batch, partition.lead().leader_epoch, check)


async def _end_in_groups(
    node: Node, marker: m.WritableTxnMarker, partition: Partition
) -> asyncio.Future[Any]:
    """Same as `_end`. The result is an ErrorCode or a KafkaError."""
    end = _end_of(marker)

    def run(machine: GroupMachine, ticket: Ticket, now: Now) -> Step:
        try:
            _check(partition, marker)
        except KafkaError as fenced:
            return reply(ticket, fenced)
        except AlreadyEndedError:
            return reply(ticket, ErrorCode.NONE)
        return Step(
            replies=[Reply(ticket, ErrorCode.NONE)],
            refused=lambda code, now: reply(ticket, code),
            ends=end,
        )

    return node.groups.shards.ask_alone(partition.index, run)


def _end_of(marker: m.WritableTxnMarker) -> TransactionEnd:
    producer = ProducerIdAndEpoch(marker.producer_id, marker.producer_epoch)
    return TransactionEnd(producer, _marker_of(marker))


def _check_producer(marker: m.WritableTxnMarker) -> None:
    """No producer has a negative id or epoch. The codes are Kafka's."""
    if marker.producer_epoch < NO_EPOCH:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH, f"epoch {marker.producer_epoch}")
    if marker.producer_id < 0 or marker.producer_epoch == NO_EPOCH:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "a marker needs a producer id and epoch")


def _check(partition: Partition, marker: m.WritableTxnMarker) -> None:
    known = partition.log.producers.producers.get(marker.producer_id)
    version = marker.transaction_version
    check_marker(known, marker.producer_epoch, _marker_of(marker), version)


def _marker_of(marker: m.WritableTxnMarker) -> EndTransactionMarker:
    return EndTransactionMarker(marker.transaction_result, marker.coordinator_epoch)
