"""Reads for one fetch: what each partition has, within the limits of the whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from broker.api.fetch_arrival import TargetId
from broker.api.fetch_sessions import FetchTarget
from broker.api.isolation import READ_COMMITTED
from broker.api.leadership import partition_to_serve
from broker.partition import Partition
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError
from broker.replication.preferred_replica import preferred_replica
from broker.replication.read_limits import Reader, check_position, read_limit

if TYPE_CHECKING:
    from broker.node import Node

_NO_TOPIC_ID = bytes(16)
_FOUND_BEFORE_READING = (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
"""Kafka answers these with an empty list of aborted transactions, all other errors with null."""


@dataclass(slots=True)
class Reading:
    """What one pass over the targets found."""

    answers: list[tuple[FetchTarget, m.FetchResponsePartitionData]] = field(default_factory=list)
    partitions: list[Partition] = field(default_factory=list)
    byte_count: int = 0
    must_answer: bool = False
    left: int = 0
    """How many bytes more it may find."""


@dataclass(frozen=True, slots=True)
class FetchLimits:
    max_bytes: int
    reader: Reader
    by_topic_id: bool
    may_follow: bool  # whether a replica that does not lead may answer
    only_news: bool  # whether a partition of which there is nothing to say is left out
    problems: Mapping[TargetId, m.FetchResponsePartitionData]
    client_rack: str

    @classmethod
    def of(
        cls,
        request: m.FetchRequest,
        *,
        max_bytes: int,
        by_topic_id: bool,
        for_replica: bool,
        may_follow: bool,
        only_news: bool,
        problems: Mapping[TargetId, m.FetchResponsePartitionData],
    ) -> FetchLimits:
        if for_replica:
            reader = Reader.FOLLOWER
        elif request.isolation_level == READ_COMMITTED:
            reader = Reader.COMMITTED
        else:
            reader = Reader.UNCOMMITTED
        return cls(
            max_bytes=min(request.max_bytes, max_bytes),
            reader=reader,
            by_topic_id=by_topic_id,
            may_follow=may_follow and not for_replica,
            only_news=only_news and not request.rack_id,
            problems=problems,
            client_rack=request.rack_id,
        )


def read_all(node: Node, targets: Iterable[FetchTarget], limits: FetchLimits) -> Reading:
    """Raises ColdReadError when something must be brought into memory first."""
    reading = Reading(left=limits.max_bytes)
    for target in targets:
        read_target(node, target, limits, reading)
    return reading


def read_target(node: Node, target: FetchTarget, limits: FetchLimits, reading: Reading) -> None:
    """Adds one partition to the reading. Raises ColdReadError, and has added nothing then."""
    problem = limits.problems.get((target.topic_id, target.index)) if limits.problems else None
    if problem is not None:
        reading.answers.append((target, problem))
        reading.must_answer = True
        return
    quiet = _quiet_partition(target, limits.reader) if limits.only_news else None
    if quiet is not None:
        reading.partitions.append(quiet)
        return
    # No records are an empty field and never null: librdkafka takes null for a broken answer.
    # Without transactions to look at, that list is null, as Kafka has it.
    answer = m.FetchResponsePartitionData(
        partition_index=target.index, high_watermark=-1, records=b"", aborted_transactions=None
    )
    try:
        partition = target.partition = _find(node, target, limits)
        # The first batch of the first partition with data goes out whole, whatever its size,
        # or a consumer with small limits could never get past it.
        first = reading.byte_count == 0
        _read_one(partition, target, answer, reading.left, limits.reader, first)
        if limits.client_rack and answer.error_code == ErrorCode.NONE:
            _prefer(node, partition, target, answer, limits.client_rack)
        reading.partitions.append(partition)
    except KafkaError as error:
        answer.error_code = error.code
        if error.code in _FOUND_BEFORE_READING:
            answer.aborted_transactions = []
        reading.must_answer = True
    else:
        if answer.records:
            reading.byte_count += len(answer.records)
            reading.left = max(0, reading.left - len(answer.records))
        if answer.diverging_epoch is not None or answer.preferred_read_replica >= 0:
            reading.must_answer = True
    reading.answers.append((target, answer))


def _quiet_partition(target: FetchTarget, reader: Reader) -> Partition | None:
    """The partition, if its reader has everything and knows it: quicker to see than to say."""
    partition = target.partition
    if partition is None or partition.leader is None:
        return None
    log = partition.log
    if reader is Reader.FOLLOWER:
        end = log.end_offset
    elif target.last_fetched_epoch >= 0:
        return None  # it may diverge
    else:
        end = log.high_watermark
    is_quiet = (
        target.fetch_offset == end
        and target.told_high_watermark == log.high_watermark
        and target.told_log_start == log.start_offset
        and target.current_leader_epoch in (partition.leader_epoch, -1)
        and log.failure is None
    )
    return partition if is_quiet else None


def _find(node: Node, target: FetchTarget, limits: FetchLimits) -> Partition:
    if limits.by_topic_id:
        topic = node.metadata.image.topic_by_id(target.topic_id)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, f"no topic {target.topic_id.hex()}")
        target.topic = topic.name
    return partition_to_serve(
        node,
        target.topic,
        target.index,
        max(target.current_leader_epoch, -1),
        by_leader=not limits.may_follow,
    )


def _prefer(
    node: Node,
    partition: Partition,
    target: FetchTarget,
    answer: m.FetchResponsePartitionData,
    client_rack: str,
) -> None:
    """KIP-392: the reader is sent to a replica in its own rack, if there is a good one."""
    if node.config.replica_selector_class is None or partition.leader is None:
        return
    replica = preferred_replica(
        partition.leader,
        own_rack=node.config.broker_rack,
        client_rack=client_rack,
        fetch_offset=target.fetch_offset,
    )
    if replica is not None:
        answer.preferred_read_replica = replica
        answer.records = memoryview(b"")


def _read_one(
    partition: Partition,
    target: FetchTarget,
    answer: m.FetchResponsePartitionData,
    left: int,
    reader: Reader,
    first: bool,
) -> None:
    log = partition.log
    log.check_online()
    if (
        target.last_fetched_epoch >= 0
        and reader is not Reader.FOLLOWER
        and _diverges(partition, target, answer)
    ):
        return
    up_to = read_limit(log, reader)
    max_bytes = min(left, target.max_bytes)
    code = check_position(log, target.fetch_offset, is_leader=partition.leader is not None)
    if code:
        raise KafkaError(
            code,
            f"{partition.topic}-{partition.index} holds offsets {log.start_offset} to "
            f"{log.end_offset}, not {target.fetch_offset}",
        )
    answer.high_watermark = log.high_watermark
    answer.last_stable_offset = log.last_stable_offset
    answer.log_start_offset = log.start_offset
    if reader is Reader.COMMITTED:
        answer.aborted_transactions = []
    if target.fetch_offset < up_to and (max_bytes > 0 or first):
        found = log.read(target.fetch_offset, max_bytes, up_to=up_to, at_least_one=first)
        if found is not None and found.length:
            # Decoded, the field is a view; to be encoded, it may be anything with a length.
            answer.records = cast("memoryview", found)
            if reader is Reader.COMMITTED:
                aborted = log.aborted_transactions(target.fetch_offset, up_to)
                answer.aborted_transactions = [
                    m.AbortedTransaction(
                        producer_id=each.producer_id, first_offset=each.first_offset
                    )
                    for each in aborted
                ]


def _diverges(
    partition: Partition, target: FetchTarget, answer: m.FetchResponsePartitionData
) -> bool:
    """KIP-595: the reader's last epoch ends before the offset from which it wants to go on."""
    epoch, end_offset = partition.log.end_offset_for_epoch(target.last_fetched_epoch)
    if epoch < 0 or end_offset < 0:
        raise KafkaError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"{partition.topic}-{partition.index} knows no epoch {target.last_fetched_epoch}",
        )
    if epoch == target.last_fetched_epoch and end_offset >= target.fetch_offset:
        return False
    answer.diverging_epoch = m.FetchResponseEpochEndOffset(epoch=epoch, end_offset=end_offset)
    answer.high_watermark = partition.log.high_watermark
    answer.last_stable_offset = partition.log.last_stable_offset
    answer.log_start_offset = partition.log.start_offset
    return True
