"""AlterReplicaLogDirs: moves replicas between the log directories of this broker (KIP-113)."""

from __future__ import annotations

from collections import Counter
from posixpath import normpath
from typing import TYPE_CHECKING

from broker.api.request import Request
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node


async def alter_replica_log_dirs(
    node: Node, request: Request[m.AlterReplicaLogDirsRequest]
) -> m.AlterReplicaLogDirsResponse:
    """Answered when the moves have begun. DescribeLogDirs shows how far they are."""
    times = await _times_named(request)
    results: dict[str, m.AlterReplicaLogDirTopicResult] = {}
    for asked in request.body.dirs:
        await request.pause()
        target = _directory(node, asked.path)
        for topic in asked.topics:
            await request.pause()
            for index in topic.partitions:
                await request.pause()
                part = m.AlterReplicaLogDirPartitionResult(partition_index=index)
                if topic.name not in results:
                    results[topic.name] = m.AlterReplicaLogDirTopicResult(
                        topic_name=topic.name, partitions=[]
                    )
                results[topic.name].partitions.append(part)
                if times[topic.name, index] > 1:
                    part.error_code = ErrorCode.INVALID_REQUEST
                elif isinstance(target, ErrorCode):
                    part.error_code = target
                else:
                    part.error_code = await _begin(node, target, topic.name, index)
    return m.AlterReplicaLogDirsResponse(results=list(results.values()))


async def _times_named(
    request: Request[m.AlterReplicaLogDirsRequest],
) -> Counter[tuple[str, int]]:
    times: Counter[tuple[str, int]] = Counter()
    for asked in request.body.dirs:
        await request.pause()
        for topic in asked.topics:
            await request.pause()
            for index in topic.partitions:
                await request.pause()
                times[topic.name, index] += 1
    return times


async def _begin(node: Node, target: str, topic: str, index: int) -> ErrorCode:
    partition = node.partitions.find(topic, index)
    if partition is None:
        # It may be on its way: then it begins there.
        node.partitions.prefer(topic, index, target)
        return ErrorCode.REPLICA_NOT_AVAILABLE
    try:
        partition.log.check_online()
        if target in node.config.cordoned_log_dirs and target != partition.log_dir:
            return ErrorCode.INVALID_REPLICA_ASSIGNMENT
        await node.role.moves.begin(partition, target)
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE


def _directory(node: Node, path: str) -> str | ErrorCode:
    """The path as `log.dirs` has it, or why nothing can be moved there."""
    wanted = normpath(path)
    for known, directory in node.partitions.directories.items():
        if normpath(known) == wanted:
            return ErrorCode.KAFKA_STORAGE_ERROR if directory.is_offline else known
    return ErrorCode.LOG_DIR_NOT_FOUND
