"""A follower's fetch as news: how far its log is, told to the partitions that it follows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from broker.api.fetch_sessions import FetchTarget
from broker.api.leadership import partition_to_serve
from broker.log.log import Log
from broker.partition import Partition
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError
from broker.replication.fetch_check import Diverging, OutOfRange, ReplicaFetch
from broker.replication.leader import Progress, Refused

if TYPE_CHECKING:
    from broker.node import Node

CONSUMER = -1

TargetId = tuple[bytes, int]


def replica_of(body: m.FetchRequest) -> tuple[int, int]:
    """The follower's node and broker epoch; CONSUMER for anybody else.

    Kafka's tools for debugging call themselves -2. They read what consumers read.
    """
    if body.replica_state is not None and body.replica_state.replica_id >= 0:
        return body.replica_state.replica_id, body.replica_state.replica_epoch
    return max(body.replica_id, CONSUMER), -1


def take_news(
    node: Node, targets: Iterable[FetchTarget], replica: int, broker_epoch: int
) -> Mapping[TargetId, m.FetchResponsePartitionData]:
    """What cannot be served, by topic id and partition; what can be served counts from now on."""
    problems: dict[TargetId, m.FetchResponsePartitionData] = {}
    for target in targets:
        problem = take_news_of(node, target, replica, broker_epoch)
        if problem is not None:
            problems[target.topic_id, target.index] = problem
    return problems


def take_news_of(
    node: Node, target: FetchTarget, replica: int, broker_epoch: int
) -> m.FetchResponsePartitionData | None:
    """Same as `take_news`, for one partition."""
    try:
        partition = target.partition
        if partition is None or partition.leader is None:
            partition = target.partition = _find(node, target)
        partition.log.check_online()
        outcome = partition.fetch_arrived(
            ReplicaFetch(
                replica,
                broker_epoch,
                target.current_leader_epoch,
                target.fetch_offset,
                target.last_fetched_epoch,
                target.log_start_offset,
            )
        )
    except KafkaError as error:
        problem = _nothing_for(target)
        problem.error_code = error.code
        return problem
    return None if isinstance(outcome, Progress) else _told(partition.log, target, outcome)


def _find(node: Node, target: FetchTarget) -> Partition:
    topic = node.metadata.image.topic_by_id(target.topic_id)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, f"no topic {target.topic_id.hex()}")
    target.topic = topic.name
    return partition_to_serve(node, target.topic, target.index)


def _nothing_for(target: FetchTarget) -> m.FetchResponsePartitionData:
    return m.FetchResponsePartitionData(
        partition_index=target.index, high_watermark=-1, records=b"", aborted_transactions=None
    )


def _told(
    log: Log, target: FetchTarget, outcome: Diverging | OutOfRange | Refused
) -> m.FetchResponsePartitionData:
    answer = _nothing_for(target)
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
    return answer
