"""Offsets of a cluster's logs, each asked of the leader of its partition."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from broker.cli.cluster_client import ClusterClient
from broker.cli.errors import FindingError, UnreachableFailure
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode, error_name

LATEST = -1
"""In place of a timestamp: where consumers find the end of the log."""
EARLIEST = -2
NO_OFFSET = -1
"""No record has this timestamp or a later one."""

_CONSUMER = -1
_TIMEOUT_MS = 30000
_ASK_AGAIN = frozenset(
    {
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)


class PartitionName(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class FoundOffset(NamedTuple):
    offset: int = NO_OFFSET
    error_code: int = ErrorCode.NONE


async def partitions_of(cluster: ClusterClient, topics: Collection[str]) -> dict[str, list[int]]:
    """By topic. Raises FindingError for a topic that does not exist."""
    answer = await cluster.metadata(sorted(topics))
    found: dict[str, list[int]] = {}
    for topic in answer.topics:
        name = topic.name or ""
        if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise FindingError(f"topic {name!r} does not exist; see: broker topics list")
        if topic.error_code and topic.error_code not in _ASK_AGAIN:
            raise FindingError(f"topic {name!r}: {error_name(topic.error_code)}")
        found[name] = sorted(each.partition_index for each in topic.partitions)
    return found


async def find_offsets(
    cluster: ClusterClient,
    wanted: Collection[PartitionName],
    timestamp_ms: int,
    *,
    at_most_s: float | None = None,
) -> dict[PartitionName, FoundOffset]:
    """The first offset of each partition at or after a time, or `LATEST`, or `EARLIEST`.

    A partition whose leader could not be asked in time has an error code.
    """
    found: dict[PartitionName, FoundOffset] = {}
    rests = cluster.rests("no leader", at_most_s)
    while True:
        left = [each for each in wanted if _is_open(found.get(each))]
        if not left:
            return found
        for leader, partitions in (await _by_leader(cluster, left, found)).items():
            found |= await _ask_leader(cluster, leader, partitions, timestamp_ms)
        waiting = [each for each in left if _is_open(found[each])]
        if not waiting or rests.is_over:
            return found
        await rests.rest(error_name(found[waiting[0]].error_code))


async def offsets_of_all(
    cluster: ClusterClient, wanted: Collection[PartitionName], timestamp_ms: int
) -> dict[PartitionName, int]:
    """Same as `find_offsets`. Raises FindingError for a partition without a leader."""
    found = await find_offsets(cluster, wanted, timestamp_ms)
    for partition, each in found.items():
        if each.error_code:
            raise FindingError(f"partition {partition}: {error_name(each.error_code)}")
    return {partition: each.offset for partition, each in found.items()}


def _is_open(found: FoundOffset | None) -> bool:
    return found is None or found.error_code in _ASK_AGAIN


async def _by_leader(
    cluster: ClusterClient,
    wanted: Collection[PartitionName],
    found: dict[PartitionName, FoundOffset],
) -> dict[int, list[PartitionName]]:
    """Partitions without a leader get their error code."""
    answer = await cluster.metadata(sorted({each.topic for each in wanted}))
    leaders = {
        PartitionName(topic.name or "", each.partition_index): each.leader_id
        for topic in answer.topics
        for each in topic.partitions
    }
    errors = {topic.name: topic.error_code for topic in answer.topics if topic.error_code}
    by_leader: dict[int, list[PartitionName]] = {}
    for each in wanted:
        leader = leaders.get(each)
        if leader is None:
            unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            found[each] = FoundOffset(error_code=errors.get(each.topic, unknown))
        elif cluster.address_of(leader) is None:
            found[each] = FoundOffset(error_code=ErrorCode.LEADER_NOT_AVAILABLE)
        else:
            by_leader.setdefault(leader, []).append(each)
    return by_leader


async def _ask_leader(
    cluster: ClusterClient, leader: int, partitions: list[PartitionName], timestamp_ms: int
) -> Mapping[PartitionName, FoundOffset]:
    asked: dict[str, list[m.ListOffsetsPartition]] = {}
    for name, index in partitions:
        asked.setdefault(name, []).append(
            m.ListOffsetsPartition(partition_index=index, timestamp=timestamp_ms)
        )
    body = m.ListOffsetsRequest(
        replica_id=_CONSUMER,
        topics=[m.ListOffsetsTopic(name=name, partitions=each) for name, each in asked.items()],
        timeout_ms=_TIMEOUT_MS,
    )
    address = cluster.address_of(leader)
    assert address is not None
    unanswered = FoundOffset(error_code=ErrorCode.LEADER_NOT_AVAILABLE)
    found = dict.fromkeys(partitions, unanswered)
    try:
        answer: m.ListOffsetsResponse = await cluster.ask(address, ApiKey.LIST_OFFSETS, body)
    except UnreachableFailure:
        return found
    for topic in answer.topics:
        for each in topic.partitions:
            where = PartitionName(topic.name, each.partition_index)
            found[where] = FoundOffset(each.offset, each.error_code)
    return found
