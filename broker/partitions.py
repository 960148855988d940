"""The partitions that this node holds, across its log directories."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping

from broker.config.topic import LogConfig
from broker.log.log import Log
from broker.log.log_directory import LogDirectory
from broker.metadata.image import Image, TopicInfo
from broker.partition import Partition
from broker.protocol.errors import KafkaError

_log = logging.getLogger(__name__)


class Partitions:
    """Kept in step with the metadata image by the node, one call of `follow` at a time."""

    def __init__(
        self, directories: Mapping[str, LogDirectory], config_of: Callable[[str], LogConfig]
    ) -> None:
        self.directories = directories
        self._config_of = config_of
        self._partitions: dict[tuple[str, int], Partition] = {}
        self._behind: dict[str, None] = {}  # topics whose logs are not yet what the image says
        self._out_of_reach: set[tuple[bytes, int]] = set()

    def __iter__(self) -> Iterator[Partition]:
        # A list: partitions may come and go while the caller waits for something.
        return iter([self._partitions[key] for key in sorted(self._partitions)])

    def __len__(self) -> int:
        return len(self._partitions)

    def find(self, topic: str, index: int) -> Partition | None:
        return self._partitions.get((topic, index))

    def offline(self) -> list[Partition]:
        found = [each for each in self._partitions.values() if each.log.failure is not None]
        return sorted(found, key=lambda each: (each.topic, each.index))

    async def adopt(self, log: Log, log_dir: str, topic: TopicInfo) -> None:
        """Serves a log that is open already."""
        served = self.find(log.topic, log.partition)
        if served is not None:
            _log.error(
                "%s stands in %s and in %s; the longer one is served",
                log.directory,
                served.log_dir,
                log_dir,
            )
            if served.log.end_offset >= log.end_offset:
                await self.directories[log_dir].release(log)
                return
            await self.directories[served.log_dir].release(served.log)
        epoch = topic.partitions[log.partition].leader_epoch
        partition = Partition(log, topic_id=topic.topic_id, log_dir=log_dir, leader_epoch=epoch)
        try:
            await log.assign_leader_epoch(epoch)
        except KafkaError as problem:
            _log.error("%s/%s: %s", log_dir, log.directory, problem)
        # The only replica: all that it has is committed.
        log.advance_high_watermark(log.end_offset)
        self._partitions[topic.name, log.partition] = partition

    def leave_out_of_reach(self, image: Image) -> None:
        """For a start without all directories: what was not found may lie in one of the others.

        An empty log in its place would make its records look deleted.
        """
        for topic in image.topics_sorted():
            for index in range(len(topic.partitions)):
                if self.find(topic.name, index) is None:
                    _log.error("%s-%d is in no directory that could be read", topic.name, index)
                    self._out_of_reach.add((topic.topic_id, index))

    @property
    def is_behind(self) -> bool:
        return bool(self._behind) or any(each.is_behind for each in self.directories.values())

    async def follow(self, image: Image, names: Iterable[str] = ()) -> None:
        """Makes the logs of these topics what the image says, and of those that failed before.

        What a disk refuses is left for the next call: the image is right, and the logs follow.
        """
        self._behind.update(dict.fromkeys(names))
        for path, directory in self.directories.items():
            try:
                await directory.rename_doomed()
            except OSError as problem:
                _log.warning("%s: a deleted log cannot be renamed: %s", path, problem)
        for partition in self:
            if partition.topic in self._behind:
                topic = image.topic(partition.topic)
                if topic is None or topic.topic_id != partition.topic_id:
                    await self._retire(partition)
        for name in list(self._behind):
            topic = image.topic(name)
            if topic is None or await self._create_missing(topic):
                self._behind.pop(name, None)

    async def _retire(self, partition: Partition) -> None:
        del self._partitions[partition.topic, partition.index]
        partition.wake_watchers()
        try:
            await self.directories[partition.log_dir].retire(partition.log)
        except OSError as problem:
            _log.error(
                "%s/%s is deleted but cannot be renamed, which is tried again: %s",
                partition.log_dir,
                partition.log.directory,
                problem,
            )

    async def _create_missing(self, topic: TopicInfo) -> bool:
        is_complete = True
        for index in range(len(topic.partitions)):
            if (
                self.find(topic.name, index) is None
                and (topic.topic_id, index) not in self._out_of_reach
            ):
                is_complete &= await self._create(topic, index)
        return is_complete

    async def _create(self, topic: TopicInfo, index: int) -> bool:
        for log_dir in self._emptiest_first():
            try:
                log = await self.directories[log_dir].create(
                    topic.name, index, topic.topic_id, self._config_of(topic.name)
                )
            except OSError as problem:
                _log.error("%s: cannot create %s-%d: %s", log_dir, topic.name, index, problem)
                continue
            await self.adopt(log, log_dir, topic)
            return True
        _log.error("%s-%d found no log directory; this is tried again", topic.name, index)
        return False

    def reconfigure(self, topic: str | None = None) -> None:
        """After a configuration changed: of one topic, or of the broker and so of all."""
        for partition in self:
            if topic is None or partition.topic == topic:
                partition.log.config = self._config_of(partition.topic)

    def _emptiest_first(self) -> list[str]:
        """As Kafka: the directory with the fewest partitions, the first of several."""
        counts = dict.fromkeys(self.directories, 0)
        for partition in self._partitions.values():
            counts[partition.log_dir] += 1
        online = [path for path in counts if not self.directories[path].is_offline]
        return sorted(online, key=counts.__getitem__)
