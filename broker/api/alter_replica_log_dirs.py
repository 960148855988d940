"""AlterReplicaLogDirs: moves replicas between the log directories of this broker (KIP-113)."""

from __future__ import annotations

from posixpath import normpath
from typing import TYPE_CHECKING

from broker.api.repeated import repeated
from broker.api.request import Request
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node


async def alter_replica_log_dirs(
    node: Node, request: Request[m.AlterReplicaLogDirsRequest]
) -> m.AlterReplicaLogDirsResponse:
    """Answered when the moves have begun. DescribeLogDirs shows how far they are."""
    dirs = request.body.dirs
    topics = (topic for asked in dirs for topic in asked.topics)
    replicas = ((topic.name, index) for topic in topics for index in topic.partitions)
    twice = await repeated(replicas, request)
    results: dict[str, m.AlterReplicaLogDirTopicResult] = {}
    for asked in dirs:
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
                if (topic.name, index) in twice:
                    part.error_code = ErrorCode.INVALID_REQUEST
                elif isinstance(target, ErrorCode):
                    part.error_code = target
                else:
                    part.error_code = await _begin(node, target, topic.name, index)
    return m.AlterReplicaLogDirsResponse(results=list(results.values()))


async def _begin(node: Node, target: str, topic: str, index: int) -> ErrorCode:
    partition = node.partitions.find(topic, index)
    if partition is None:
        # It may be on its way: then it begins there.
        node.partitions.prefer(topic, index, target)
        known = node.metadata.image.topic(topic)
        if known is None or not 0 <= index < len(known.partitions):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
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
