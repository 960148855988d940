"""One node: its logs, its metadata, its server, its housekeeping; started, changed, stopped."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from broker.api.fetch_sessions import FetchSessions
from broker.config.broker import BrokerConfig
from broker.config.topic import LogConfig
from broker.housekeeping import Housekeeping
from broker.log.breather import Breather
from broker.log.log import Log
from broker.log.log_directory import LogDirectory
from broker.metadata.changes import (
    Change,
    ConfigChanged,
    LeaderEpochRaised,
    PartitionsAdded,
    ProducerIdsAllocated,
    ResourceType,
    TopicCreated,
    TopicDeleted,
)
from broker.metadata.producer_ids import ProducerIds
from broker.metadata.store import MetadataStore
from broker.network.interface import Address
from broker.observe.metrics import Metrics, ProcessFigures
from broker.partitions import Partitions
from broker.server.server import Server
from broker.world import World, current_node

_log = logging.getLogger(__name__)

_SESSION_EVICTION_S = 120.0


class Node:
    """Made by `Node.start`. Everything it touches outside itself is in its world."""

    def __init__(
        self,
        config: BrokerConfig,
        world: World,
        metadata: MetadataStore,
        directories: dict[str, LogDirectory],
        metrics: Metrics,
    ) -> None:
        self.node_id = config.node_id
        self.world = world
        self.metadata = metadata
        self.metrics = metrics
        self._file_config = config
        self.config = config.with_changes(metadata.image.broker_configs(self.node_id))
        self.partitions = Partitions(directories, self.log_config)
        self.fetch_sessions = FetchSessions(
            slots=config.max_incremental_fetch_session_cache_slots,
            eviction_s=_SESSION_EVICTION_S,
            random=world.random,
        )
        self.producer_ids = ProducerIds(metadata.image, self.change)
        self.server = Server(self)
        self.advertised = Address("", -1)
        self._housekeeping = Housekeeping(self)
        self._changing = asyncio.Lock()

    @classmethod
    async def start(
        cls,
        config: BrokerConfig,
        world: World,
        *,
        process_figures: Callable[[], ProcessFigures] | None = None,
    ) -> Node:
        """Raises a StartError's sentence when the directories are not this node's to use."""
        current_node.set(str(config.node_id))
        metadata = await MetadataStore.load(world.disks[config.metadata_log_dir])
        breather = Breather()
        directories = {
            path: LogDirectory(
                world.disks[path],
                path,
                clock=world.clock,
                random=world.random,
                breather=breather,
                node_id=config.node_id,
            )
            for path in config.log_dirs
        }
        node = cls(config, world, metadata, directories, Metrics(process_figures))
        try:
            await node._load_logs()
            await node._raise_leader_epochs()
            await node._listen()
        except BaseException:
            # A port that is taken must not cost the next start a scan of all logs.
            await node.stop()
            raise
        node._housekeeping.start()
        return node

    def log_config(self, topic: str) -> LogConfig:
        return LogConfig.build(self.config, self.metadata.image.topic_configs(topic))

    @property
    def cluster_id(self) -> str:
        return next(iter(self.partitions.directories.values())).cluster_id

    async def _load_logs(self) -> None:
        loaded = await asyncio.gather(
            *(directory.load(self.log_config) for directory in self.partitions.directories.values())
        )
        for path, logs in zip(self.partitions.directories, loaded, strict=True):
            for log in logs:
                await self._adopt(path, log)
        for topic in self.metadata.image.topics_sorted():
            for index in range(len(topic.partitions)):
                # A crash may have come between the topic's creation and that of its logs.
                if self.partitions.find(topic.name, index) is None:
                    await self.partitions.create(topic, index)

    async def _adopt(self, path: str, log: Log) -> None:
        topic = self.metadata.image.topic(log.topic)
        if topic is None or log.partition >= len(topic.partitions):
            _log.warning("%s/%s belongs to no topic; it is left alone", path, log.directory)
            await self.partitions.directories[path].let_go(log)
        elif log.topic_id is not None and log.topic_id != topic.topic_id:
            _log.warning(
                "%s/%s is of an older topic %s; deleting it", path, log.directory, log.topic
            )
            await self.partitions.directories[path].delete(log)
        elif self.partitions.find(log.topic, log.partition) is not None:
            _log.error(
                "%s/%s stands in two log directories; this one is unused", path, log.directory
            )
            await self.partitions.directories[path].let_go(log)
        else:
            self.partitions.adopt(log, path, topic)

    async def _raise_leader_epochs(self) -> None:
        """A start is a new leadership: readers can tell that a crash may have cut the log."""
        changes: list[Change] = [
            LeaderEpochRaised(partition.topic, partition.index, partition.leader_epoch + 1)
            for partition in self.partitions
        ]
        if changes:
            await self.metadata.commit(changes)
        for partition in self.partitions:
            partition.leader_epoch += 1

    async def _listen(self) -> None:
        advertised = {entry.name: entry for entry in self.config.advertised_listeners}
        for entry in self.config.client_listeners:
            bound = await self.server.listen(Address(entry.bind_host, entry.port))
            told = advertised.get(entry.name, entry)
            if self.advertised.port < 0:
                self.advertised = Address(told.host or bound.host, told.port or bound.port)

    async def change(self, changes: Sequence[Change]) -> None:
        """Durable first, then visible here: logs are created, deleted, configured."""
        async with self._changing:
            await self.metadata.commit(changes)
            for change in changes:
                await self._carry_out(change)

    async def _carry_out(self, change: Change) -> None:
        match change:
            case TopicCreated(name=name) | PartitionsAdded(name=name):
                topic = self.metadata.image.topics[name]
                for index in range(len(topic.partitions)):
                    if self.partitions.find(name, index) is None:
                        await self.partitions.create(topic, index)
            case TopicDeleted(name=name):
                for partition in [each for each in self.partitions if each.topic == name]:
                    await self.partitions.delete(partition)
                self.metrics.topic_deleted(name)
            case ConfigChanged(resource_type=ResourceType.TOPIC, resource_name=name):
                self.partitions.reconfigure(name)
            case ConfigChanged():
                self.config = self._file_config.with_changes(
                    self.metadata.image.broker_configs(self.node_id)
                )
                self.partitions.reconfigure()
            case ProducerIdsAllocated() | LeaderEpochRaised():
                pass

    async def stop(self) -> None:
        """Clean: nothing has to be scanned at the next start."""
        await self.server.close()
        await self._housekeeping.stop()
        for directory in self.partitions.directories.values():
            await directory.close()
