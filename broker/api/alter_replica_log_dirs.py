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
    asked = [
        (directory.path, topic.name, index)
        for directory in request.body.dirs
        for topic in directory.topics
        for index in topic.partitions
    ]
    times = Counter((topic, index) for _, topic, index in asked)
    results: dict[str, m.AlterReplicaLogDirTopicResult] = {}
    for path, topic, index in asked:
        part = m.AlterReplicaLogDirPartitionResult(partition_index=index)
        result = results.setdefault(
            topic, m.AlterReplicaLogDirTopicResult(topic_name=topic, partitions=[])
        )
        result.partitions.append(part)
        try:
            if times[topic, index] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "the replica is named twice")
            await _begin(node, path, topic, index)
        except KafkaError as error:
            part.error_code = error.code
    return m.AlterReplicaLogDirsResponse(results=list(results.values()))


async def _begin(node: Node, path: str, topic: str, index: int) -> None:
    """Raises KafkaError."""
    target = _directory(node, path)
    partition = node.partitions.find(topic, index)
    if partition is None:
        # It may be on its way: then it begins there.
        node.partitions.prefer(topic, index, target)
        raise KafkaError(ErrorCode.REPLICA_NOT_AVAILABLE, f"{topic}-{index} is not on this broker")
    partition.log.check_online()
    if target in node.config.cordoned_log_dirs and target != partition.log_dir:
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"{target} is cordoned")
    await node.role.moves.begin(partition, target)


def _directory(node: Node, path: str) -> str:
    for known, directory in node.partitions.directories.items():
        if normpath(known) == normpath(path):
            if directory.is_offline:
                raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{path} is offline")
            return known
    raise KafkaError(ErrorCode.LOG_DIR_NOT_FOUND, f"{path} is not one of log.dirs")
