"""ListOffsets: the first, last or dated offset of a partition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.leadership import partition_to_serve
from broker.api.repeated import repeated
from broker.api.request import Request
from broker.cleaned_replicas import CLEANED
from broker.partition import Partition
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError
from broker.replication.read_limits import Reader, check_latest, read_limit

if TYPE_CHECKING:
    from broker.node import Node

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6

_FIRST_VERSION = {
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
_READ_COMMITTED = 1


async def list_offsets(node: Node, request: Request[m.ListOffsetsRequest]) -> m.ListOffsetsResponse:
    body = request.body
    twice = await repeated(
        ((topic.name, part.partition_index) for topic in body.topics for part in topic.partitions),
        request,
    )
    topics: dict[str, m.ListOffsetsTopicResponse] = {}
    refused: set[tuple[str, int]] = set()
    for topic in body.topics:
        await request.pause()
        for part in topic.partitions:
            await request.pause()
            place = topic.name, part.partition_index
            if place in refused:
                continue
            answer = m.ListOffsetsPartitionResponse(partition_index=part.partition_index)
            if topic.name not in topics:
                topics[topic.name] = m.ListOffsetsTopicResponse(name=topic.name, partitions=[])
            topics[topic.name].partitions.append(answer)
            try:
                if place in twice:
                    refused.add(place)
                    raise KafkaError(ErrorCode.INVALID_REQUEST, "a partition is asked for twice")
                if part.timestamp == CLEANED and body.replica_id >= 0:
                    epoch = part.current_leader_epoch
                    held = partition_to_serve(node, *place, epoch, by_leader=False)
                    answer.offset = node.partitions.cleaned_to(held)
                    continue
                partition = partition_to_serve(
                    node, topic.name, part.partition_index, part.current_leader_epoch
                )
                committed_only = body.isolation_level == _READ_COMMITTED
                await _find(partition, part.timestamp, committed_only, request.version, answer)
            except KafkaError as error:
                answer.error_code = error.code
    return m.ListOffsetsResponse(topics=list(topics.values()))


async def _find(
    partition: Partition,
    timestamp: int,
    committed_only: bool,
    version: int,
    answer: m.ListOffsetsPartitionResponse,
) -> None:
    log = partition.log
    log.check_online()
    if version < _FIRST_VERSION.get(timestamp, 0) or timestamp < EARLIEST_PENDING_UPLOAD:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION, f"version {version} does not know timestamp {timestamp}"
        )
    reader = Reader.COMMITTED if committed_only else Reader.UNCOMMITTED
    up_to = read_limit(log, reader)
    answer.leader_epoch = partition.leader_epoch
    not_yet = check_latest(log, partition.lead().epoch_start_offset, reader)
    if timestamp == LATEST:
        if not_yet:
            raise KafkaError(not_yet, "a new leader does not know yet what is committed")
        answer.offset = up_to
    elif timestamp in (EARLIEST, EARLIEST_LOCAL):
        answer.offset = log.start_offset
    elif timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        answer.leader_epoch = -1  # nothing is tiered here
    else:
        if timestamp == MAX_TIMESTAMP:
            found = await log.find_max_timestamp()
        else:
            found = await log.find_by_timestamp(timestamp, up_to)
        if found is None or found.offset >= up_to:
            if not_yet:
                raise KafkaError(not_yet, "a new leader does not know yet what is committed")
            answer.leader_epoch = -1
            return
        answer.timestamp = found.timestamp_ms
        answer.offset = found.offset
