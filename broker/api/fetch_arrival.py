"""A follower's fetch as news: how far its log is, told to the partitions that it follows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from broker.api.fetch_sessions import FetchTarget
from broker.api.leadership import partition_to_serve
from broker.partition import Partition
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError
from broker.replication.fetch_check import Diverging, OutOfRange, ReplicaFetch
from broker.replication.leader import Refused

if TYPE_CHECKING:
    from broker.node import Node

CONSUMER = -1

TargetId = tuple[bytes, int]


def replica_of(body: m.FetchRequest) -> tuple[int, int]:
    """The follower's node and broker epoch; CONSUMER for anybody else."""
    if body.replica_state is not None and body.replica_state.replica_id >= 0:
        return body.replica_state.replica_id, body.replica_state.replica_epoch
    return body.replica_id, -1


def take_news(
    node: Node, targets: Iterable[FetchTarget], replica: int, broker_epoch: int
) -> Mapping[TargetId, m.FetchResponsePartitionData]:
    """What cannot be served, by topic id and partition; what can be served counts from now on."""
    problems: dict[TargetId, m.FetchResponsePartitionData] = {}
    for target in targets:
        answer = m.FetchResponsePartitionData(
            partition_index=target.index, high_watermark=-1, records=b""
        )
        try:
            topic = node.metadata.image.topic_by_id(target.topic_id)
            if topic is None:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, f"no topic {target.topic_id.hex()}")
            target.topic = topic.name
            partition = partition_to_serve(node, target.topic, target.index)
            partition.log.check_online()
            is_fine = _count(partition, target, replica, broker_epoch, answer)
        except KafkaError as error:
            answer.error_code, is_fine = error.code, False
        if not is_fine:
            problems[target.topic_id, target.index] = answer
    return problems


def _count(
    partition: Partition,
    target: FetchTarget,
    replica: int,
    broker_epoch: int,
    answer: m.FetchResponsePartitionData,
) -> bool:
    outcome = partition.fetch_arrived(
        ReplicaFetch(
            replica=replica,
            broker_epoch=broker_epoch,
            current_leader_epoch=target.current_leader_epoch,
            fetch_offset=target.fetch_offset,
            last_fetched_epoch=target.last_fetched_epoch,
            log_start_offset=target.log_start_offset,
        )
    )
    log = partition.log
    match outcome:
        case Refused(code):
            answer.error_code = code
        case OutOfRange(start_offset):
            answer.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
            answer.log_start_offset = start_offset
            answer.high_watermark = log.high_watermark
        case Diverging(epoch, end_offset):
            answer.diverging_epoch = m.FetchResponseEpochEndOffset(
                epoch=epoch, end_offset=end_offset
            )
            answer.high_watermark = log.high_watermark
            answer.log_start_offset = log.start_offset
        case _:
            return True
    return False
