"""The partitions that this node holds, across its log directories."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping

from broker.config.topic import LogConfig
from broker.log.log import Log
from broker.log.log_directory import LogDirectory
from broker.metadata.image import TopicInfo
from broker.partition import Partition
from broker.protocol.errors import ErrorCode, KafkaError

_log = logging.getLogger(__name__)


class Partitions:
    """Kept in step with the metadata image by the node."""

    def __init__(
        self, directories: Mapping[str, LogDirectory], config_of: Callable[[str], LogConfig]
    ) -> None:
        self.directories = directories
        self._config_of = config_of
        self._partitions: dict[tuple[str, int], Partition] = {}

    def __iter__(self) -> Iterator[Partition]:
        return (self._partitions[key] for key in sorted(self._partitions))

    def __len__(self) -> int:
        return len(self._partitions)

    def find(self, topic: str, index: int) -> Partition | None:
        return self._partitions.get((topic, index))

    def adopt(self, log: Log, log_dir: str, topic: TopicInfo) -> Partition:
        """Serves a log that is open already."""
        partition = Partition(
            log,
            topic_id=topic.topic_id,
            log_dir=log_dir,
            leader_epoch=topic.partitions[log.partition].leader_epoch,
        )
        # The only replica: all that it has is committed.
        log.advance_high_watermark(log.end_offset)
        self._partitions[topic.name, log.partition] = partition
        return partition

    async def create(self, topic: TopicInfo, index: int) -> Partition:
        log_dir, directory = self._emptiest_directory()
        log = await directory.create(topic.name, index, topic.topic_id, self._config_of(topic.name))
        return self.adopt(log, log_dir, topic)

    async def delete(self, partition: Partition) -> None:
        del self._partitions[partition.topic, partition.index]
        partition.wake_watchers()
        await self.directories[partition.log_dir].delete(partition.log)

    def reconfigure(self, topic: str | None = None) -> None:
        """After a configuration changed: of one topic, or of the broker and so of all."""
        for partition in self:
            if topic is None or partition.topic == topic:
                partition.log.config = self._config_of(partition.topic)

    def _emptiest_directory(self) -> tuple[str, LogDirectory]:
        """As Kafka: the directory with the fewest partitions, the first of several."""
        counts = dict.fromkeys(self.directories, 0)
        for partition in self._partitions.values():
            counts[partition.log_dir] += 1
        online = [path for path in counts if not self.directories[path].is_offline]
        if not online:
            raise KafkaError(
                ErrorCode.KAFKA_STORAGE_ERROR, "no log directory is online; see the broker's log"
            )
        chosen = min(online, key=counts.__getitem__)
        return chosen, self.directories[chosen]
