"""Tells the controller in which log directory each replica lies: AssignReplicasToDirs (KIP-858).

A broker with one directory has nothing to tell, unless the cluster remembers another one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from broker.partition import Partition
from broker.peers.backoff import Backoff
from broker.peers.channel import UnansweredError
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode, error_name
from broker.to_controller import ToController

_log = logging.getLogger(__name__)

_AT_ONCE = 1000
"""Replicas in one request: a broker that is new in the cluster may have tens of thousands."""

_Key = tuple[bytes, int]


class DirectoryAssignments:
    """One request at a time, with what came up meanwhile."""

    def __init__(
        self,
        node_id: int,
        to_controller: ToController,
        *,
        ids: Mapping[str, bytes],
        broker_epoch: Callable[[], int | None],
        timeout_s: float,
        backoff: Backoff,
    ) -> None:
        """`ids` of the log directories, by their paths."""
        self._node_id = node_id
        self._to_controller = to_controller
        self._ids = ids
        self._broker_epoch = broker_epoch
        self._timeout_s = timeout_s
        self._backoff = backoff
        self._pending: dict[_Key, Partition] = {}
        self._something = asyncio.Event()

    def look_at(self, partition: Partition) -> None:
        """The metadata says something of it, perhaps not where it lies."""
        if self._is_news(partition):
            self._pending[partition.topic_id, partition.index] = partition
            self._something.set()

    def _is_news(self, partition: Partition) -> bool:
        if partition.info is None or _lies_in(partition) not in self._ids:
            return False
        known = partition.info.directory_of(self._node_id)
        if known is None:
            return len(self._ids) > 1
        return known != self._ids[_lies_in(partition)]

    async def run(self) -> None:
        while True:
            await self._something.wait()
            self._something.clear()
            if await self._send(self._next()):
                self._backoff.reset()
            else:
                await asyncio.sleep(self._backoff.next_s())

    def _next(self) -> dict[_Key, Partition]:
        taken: dict[_Key, Partition] = {}
        for key, partition in list(self._pending.items()):
            if len(taken) == _AT_ONCE:
                self._something.set()
                break
            del self._pending[key]
            if self._is_news(partition):
                taken[key] = partition
        return taken

    async def _send(self, partitions: Mapping[_Key, Partition]) -> bool:
        """Whether it was answered. What was refused comes up again when the metadata changes."""
        epoch = self._broker_epoch()
        if not partitions:
            return True
        try:
            if epoch is None:
                raise UnansweredError("this broker is not registered")
            answer: m.AssignReplicasToDirsResponse = await self._to_controller.ask(
                ApiKey.ASSIGN_REPLICAS_TO_DIRS,
                self._request(partitions, epoch),
                timeout_s=self._timeout_s,
            )
            if answer.error_code:
                raise UnansweredError(error_name(answer.error_code))
        except UnansweredError as problem:
            _log.debug("AssignReplicasToDirs: %s", problem)
            for key, partition in partitions.items():
                self._pending.setdefault(key, partition)
            self._something.set()
            return False
        for directory in answer.directories:
            for topic in directory.topics:
                for part in topic.partitions:
                    if part.error_code != ErrorCode.NONE:
                        _log.warning(
                            "the controller does not want to know where partition %d of topic %s "
                            "lies: %s",
                            part.partition_index,
                            topic.topic_id.hex(),
                            error_name(part.error_code),
                        )
        return True

    def _request(
        self, partitions: Mapping[_Key, Partition], epoch: int
    ) -> m.AssignReplicasToDirsRequest:
        topics: dict[tuple[str, bytes], list[m.AssignReplicasToDirsRequestPartitionData]] = {}
        for (topic_id, index), partition in partitions.items():
            part = m.AssignReplicasToDirsRequestPartitionData(partition_index=index)
            topics.setdefault((_lies_in(partition), topic_id), []).append(part)
        return m.AssignReplicasToDirsRequest(
            broker_id=self._node_id,
            broker_epoch=epoch,
            directories=[
                m.AssignReplicasToDirsRequestDirectoryData(
                    id=directory_id,
                    topics=[
                        m.AssignReplicasToDirsRequestTopicData(topic_id=topic_id, partitions=parts)
                        for (log_dir, topic_id), parts in topics.items()
                        if log_dir == path
                    ],
                )
                for path, directory_id in self._ids.items()
            ],
        )


def _lies_in(partition: Partition) -> str:
    """A replica that is about to move is announced first: should its new directory fail right
    after, the controller must not believe that it still leads from the old one."""
    return partition.next_log_dir or partition.log_dir
