"""DescribeLogDirs: what lies in each log directory, and how much room is left there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.request import Request
from broker.log.log import Log
from broker.partition import Partition
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from broker.node import Node

_UNKNOWN = -1


async def describe_log_dirs(
    node: Node, request: Request[m.DescribeLogDirsRequest]
) -> m.DescribeLogDirsResponse:
    request.make_wide()  # it may ask for all partitions there are
    wanted = _wanted(request.body)
    results: list[m.DescribeLogDirsResult] = []
    for path in node.config.log_dirs:
        result = m.DescribeLogDirsResult(
            log_dir=path, total_bytes=_UNKNOWN, usable_bytes=_UNKNOWN, topics=[]
        )
        results.append(result)
        try:
            result.usable_bytes = await node.world.disks[path].free_bytes()
        except OSError:
            result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
            continue
        if node.partitions.directories[path].is_offline:
            result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
            continue
        result.topics = await _topics(node, path, wanted, request)
    return m.DescribeLogDirsResponse(results=results)


def _wanted(body: m.DescribeLogDirsRequest) -> set[tuple[str, int]] | None:
    if body.topics is None:
        return None
    return {(topic.topic, index) for topic in body.topics for index in topic.partitions}


async def _topics(
    node: Node,
    path: str,
    wanted: set[tuple[str, int]] | None,
    request: Request[m.DescribeLogDirsRequest],
) -> list[m.DescribeLogDirsTopic]:
    topics: dict[str, m.DescribeLogDirsTopic] = {}
    for partition in list(node.partitions):
        await request.pause()
        if wanted is not None and (partition.topic, partition.index) not in wanted:
            continue
        log = _log_in(node, partition, path)
        if log is None:
            continue
        topic = topics.get(partition.topic)
        if topic is None:
            topic = topics[partition.topic] = m.DescribeLogDirsTopic(
                name=partition.topic, partitions=[]
            )
        topic.partitions.append(
            m.DescribeLogDirsPartition(
                partition_index=partition.index,
                partition_size=log.size_bytes,
                offset_lag=max(0, partition.log.end_offset - log.end_offset),
                is_future_key=log is not partition.log,
            )
        )
    return list(topics.values())


def _log_in(node: Node, partition: Partition, path: str) -> Log | None:
    """The partition's log, or the copy that is to take its place (KIP-113), if it lies there."""
    if partition.log_dir == path:
        return partition.log
    move = node.role.moves.find(partition)
    return move.copy if move is not None and move.target == path else None
