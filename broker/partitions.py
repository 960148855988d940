"""The partitions that this node holds, across its log directories."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping

from broker.config.topic import LogConfig
from broker.log.breather import Breather
from broker.log.log import Log
from broker.log.log_directory import LogDirectory
from broker.log.side_by_side import side_by_side
from broker.metadata.image import Image, TopicInfo
from broker.metadata.partition_info import PartitionInfo
from broker.observe.events import emit
from broker.partition import Partition, Surroundings
from broker.protocol.errors import KafkaError

_log = logging.getLogger(__name__)

_PREFERENCES_MAX = 100_000
"""A client may wish for partitions that never come; the oldest wishes are forgotten."""


class Partitions:
    """Kept in step with the metadata image by the node, one call of `follow` at a time."""

    def __init__(
        self,
        directories: Mapping[str, LogDirectory],
        config_of: Callable[[str], LogConfig],
        surroundings: Surroundings,
        on_role: Callable[[Partition], None],
        cordoned: Callable[[], Collection[str]],
        before_leaving: Callable[[Partition], Awaitable[None]],
    ) -> None:
        """`on_role` is told of each partition whose leader may have changed, or that is gone,
        `before_leaving` of one that is about to be."""
        self.directories = directories
        self._config_of = config_of
        self._surroundings = surroundings
        self._on_role = on_role
        self._cordoned = cordoned
        self._before_leaving = before_leaving
        self._partitions: dict[tuple[str, int], Partition] = {}
        self._behind: dict[tuple[str, int], None] = {}  # whose logs are not as the image says yet
        self._out_of_reach: set[tuple[bytes, int]] = set()
        self._being_created: Counter[str] = Counter()  # by directory
        self._preferred: dict[tuple[str, int], str] = {}  # the oldest first

    def __iter__(self) -> Iterator[Partition]:
        # A list: partitions may come and go while the caller waits for something.
        return iter([self._partitions[key] for key in sorted(self._partitions)])

    def __len__(self) -> int:
        return len(self._partitions)

    def find(self, topic: str, index: int) -> Partition | None:
        return self._partitions.get((topic, index))

    def cleaned_to(self, partition: Partition) -> int:
        """The offset up to which compaction has seen the partition's log."""
        return self.directories[partition.log_dir].cleaner.cleaned_to(partition.log)

    def offline(self) -> list[Partition]:
        found = [each for each in self._partitions.values() if each.log.failure is not None]
        return sorted(found, key=lambda each: (each.topic, each.index))

    async def adopt(self, log: Log, log_dir: str, topic_id: bytes) -> None:
        """Holds a log that is open already, without a part in the replication so far."""
        held = self.find(log.topic, log.partition)
        if held is not None:
            _log.error(
                "%s stands in %s and in %s; the one that was written last is served",
                log.directory,
                held.log_dir,
                log_dir,
            )
            if _newness(held.log) >= _newness(log):
                await self.directories[log_dir].release(log)
                return
            await self.directories[held.log_dir].release(held.log)
        # What the metadata says of its topic may have changed while the log was opened.
        log.config = self._config_of(log.topic)
        self._partitions[log.topic, log.partition] = Partition(
            log, topic_id=topic_id, log_dir=log_dir, surroundings=self._surroundings
        )

    async def leave_stray(self, partition: Partition) -> None:
        """Its topic is not known, nor that it was deleted: somebody may miss the records."""
        await self._before_leaving(partition)
        del self._partitions[partition.topic, partition.index]
        partition.retire()
        await self.directories[partition.log_dir].release(partition.log)

    def leave_out_of_reach(self, image: Image) -> None:
        """For a start without all directories: what was not found may lie in one of the others.

        An empty log in its place would make its records look deleted.
        """
        for topic in image.topics_sorted():
            for index, info in enumerate(topic.partitions):
                is_ours = self._surroundings.node_id in info.replicas
                if is_ours and self.find(topic.name, index) is None:
                    _log.error("%s-%d is in no directory that could be read", topic.name, index)
                    self._out_of_reach.add((topic.topic_id, index))

    def is_out_of_reach(self, topic_id: bytes, index: int) -> bool:
        return (topic_id, index) in self._out_of_reach

    @property
    def is_behind(self) -> bool:
        return bool(self._behind) or any(each.is_behind for each in self.directories.values())

    async def follow(self, image: Image, changed: Iterable[tuple[str, int]] = ()) -> None:
        """Makes these partitions what the image says, and those that failed before.

        What a disk refuses is left for the next call: the image is right, and the logs follow.
        """
        self._behind.update(dict.fromkeys(changed))
        for path, directory in self.directories.items():
            try:
                await directory.rename_doomed()
            except OSError as problem:
                _log.warning("%s: a deleted log cannot be renamed: %s", path, problem)
        breather = Breather()

        async def follow_one(key: tuple[str, int]) -> None:
            if await self._follow_one(image, *key):
                self._behind.pop(key, None)
            await breather.pause()

        await side_by_side(list(self._behind), follow_one)

    async def _follow_one(self, image: Image, name: str, index: int) -> bool:
        topic = image.topic(name)
        info = None
        if topic is not None and index < len(topic.partitions):
            info = topic.partitions[index]
        held = self.find(name, index)
        is_ours = info is not None and self._surroundings.node_id in info.replicas
        if held is not None and (not is_ours or topic is None or topic.topic_id != held.topic_id):
            await self._retire(held)
            held = None
        if not is_ours or topic is None or info is None:
            return True
        if held is None:
            if (topic.topic_id, index) in self._out_of_reach:
                return True
            held = await self._create(topic, index)
        return held is not None and await self._assume_role(held, info)

    async def _assume_role(self, partition: Partition, info: PartitionInfo) -> bool:
        has_become = True
        try:
            await partition.become(info)
        except KafkaError as problem:
            _log.error("%s/%s: %s", partition.log_dir, partition.log.directory, problem)
            has_become = False
        # Also of a log that failed: the controller has to know in which directory it lies.
        self._on_role(partition)
        return has_become

    async def _retire(self, partition: Partition) -> None:
        await self._before_leaving(partition)
        del self._partitions[partition.topic, partition.index]
        partition.retire()
        emit("retire", partition.topic, partition.index)
        self._on_role(partition)
        try:
            await self.directories[partition.log_dir].retire(partition.log)
        except OSError as problem:
            _log.error(
                "%s/%s is deleted but cannot be renamed, which is tried again: %s",
                partition.log_dir,
                partition.log.directory,
                problem,
            )

    async def _create(self, topic: TopicInfo, index: int) -> Partition | None:
        for log_dir in self._choices(topic.name, index):
            self._being_created[log_dir] += 1
            try:
                log = await self.directories[log_dir].create(
                    topic.name, index, topic.topic_id, self._config_of(topic.name)
                )
            except OSError as problem:
                _log.error("%s: cannot create %s-%d: %s", log_dir, topic.name, index, problem)
                continue
            finally:
                self._being_created[log_dir] -= 1
            await self.adopt(log, log_dir, topic.topic_id)
            return self.find(topic.name, index)
        _log.error("%s-%d found no log directory; this is tried again", topic.name, index)
        return None

    def reconfigure(self, topic: str | None = None) -> None:
        """After a configuration changed: of one topic, or of the broker and so of all."""
        for partition in self:
            if topic is None or partition.topic == topic:
                partition.log.config = self._config_of(partition.topic)
                partition.reconfigured()

    def brokers_changed(self) -> None:
        for partition in self:
            partition.brokers_changed()

    async def check_lag(self) -> None:
        """Who has fallen behind is proposed to leave the in-sync replicas."""
        for count, partition in enumerate(self):
            partition.check_lag()
            if count % 500 == 499:
                await asyncio.sleep(0)

    def prefer(self, topic: str, index: int, log_dir: str) -> None:
        """Where the log shall lie when the controller wants one here (KIP-113)."""
        self._preferred.pop((topic, index), None)
        self._preferred[topic, index] = log_dir
        if len(self._preferred) > _PREFERENCES_MAX:
            del self._preferred[next(iter(self._preferred))]

    def _choices(self, topic: str, index: int) -> list[str]:
        choices = self._emptiest_first()
        preferred = self._preferred.pop((topic, index), None)
        return sorted(choices, key=lambda path: path != preferred)

    def _emptiest_first(self) -> list[str]:
        """As Kafka: the directory with the fewest partitions, the first of several.

        Cordoned ones (KIP-1066) come last: a log that the controller wants must go somewhere.
        """
        online = [path for path, each in self.directories.items() if not each.is_offline]
        if len(online) < 2:
            return online
        counts = Counter(partition.log_dir for partition in self._partitions.values())
        counts.update(self._being_created)
        cordoned = self._cordoned()
        return sorted(online, key=lambda path: (path in cordoned, counts[path]))


def _newness(log: Log) -> tuple[int, int, int]:
    """Of two copies that a crash between two renames has left, the greater one lacks nothing:
    it has the later epoch, then the later end, then it has forgotten more."""
    return log.epochs.latest, log.end_offset, log.start_offset
