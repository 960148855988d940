"""One node: its logs, its metadata, its server, its housekeeping; started, changed, stopped."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextvars import Context, copy_context
from typing import Any, TypeVar

from broker.api.fetch_sessions import FetchSessions
from broker.config import stored
from broker.config.broker import BrokerConfig
from broker.config.topic import LogConfig
from broker.housekeeping import Housekeeping
from broker.log.breather import Breather
from broker.log.checkpoints import TopicPartition
from broker.log.identity import WrongDirectoryError
from broker.log.log_directory import LogDirectory
from broker.log.room import is_lack_of_room
from broker.metadata.changes import (
    BrokerChanged,
    BrokerEpochsUsed,
    BrokerRegistered,
    BrokerUnregistered,
    Change,
    ConfigChanged,
    DeletionsRemembered,
    LeaderEpochsRaised,
    PartitionsAdded,
    PartitionsChanged,
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
from broker.protocol.errors import ErrorCode, KafkaError
from broker.server.server import Server
from broker.world import World, current_node

_log = logging.getLogger(__name__)

_SESSION_EVICTION_S = 120.0

_Result = TypeVar("_Result")


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
        """Called in the context that all of the node's tasks are to have."""
        self.node_id = config.node_id
        self.world = world
        self.metadata = metadata
        self.metrics = metrics
        self._file_config = config
        self.config = stored.broker_config(config, metadata.image.broker_configs(self.node_id))
        self.partitions = Partitions(directories, self.log_config)
        self.fetch_sessions = FetchSessions(
            slots=config.max_incremental_fetch_session_cache_slots,
            eviction_s=_SESSION_EVICTION_S,
            random=world.random,
        )
        self.producer_ids = ProducerIds(metadata.image, self.change)
        self.server = Server(self)
        self.addresses: dict[str, Address] = {}  # what clients are told, by listener
        self._housekeeping = Housekeeping(self)
        self._changing = asyncio.Lock()
        self._context = copy_context()

    @classmethod
    async def start(
        cls,
        config: BrokerConfig,
        world: World,
        *,
        process_figures: Callable[[], ProcessFigures] | None = None,
    ) -> Node:
        """Raises NotFormattedError or WrongDirectoryError, whose sentences are for the user."""
        context = copy_context()
        context.run(current_node.set, str(config.node_id))
        return await _in_context(context, cls._start(config, world, Metrics(process_figures)))

    @classmethod
    async def _start(cls, config: BrokerConfig, world: World, metrics: Metrics) -> Node:
        directories = {
            path: LogDirectory(
                world.disks[path],
                path,
                clock=world.clock,
                random=world.random,
                breather=Breather(),
                node_id=config.node_id,
            )
            for path in config.log_dirs
        }
        await _identify(directories, config.metadata_log_dir)
        metadata = await MetadataStore.load(world.disks[config.metadata_log_dir])
        node = cls(config, world, metadata, directories, metrics)
        try:
            await node._load_logs()
            is_leader = await node._raise_leader_epochs_if_there_is_room()
            await node._adopt_logs()
            if not is_leader:
                for partition in node.partitions:
                    partition.before_append = node._become_leader
            await node._listen()
        except BaseException:
            # A port that is taken must not cost the next start a scan of all logs.
            await node._stop()
            raise
        node._housekeeping.start()
        return node

    def log_config(self, topic: str) -> LogConfig:
        return stored.log_config(self.config, topic, self.metadata.image.topic_configs(topic))

    @property
    def advertised(self) -> Address:
        """Of the first listener."""
        return next(iter(self.addresses.values()))

    def address_for(self, listener: str) -> Address:
        """What a client is told that came by this listener."""
        return self.addresses.get(listener) or self.advertised

    @property
    def cluster_id(self) -> str:
        return self.partitions.directories[self.config.metadata_log_dir].cluster_id

    async def _load_logs(self) -> None:
        results = await asyncio.gather(
            *(self._load_directory(*each) for each in self.partitions.directories.items()),
            return_exceptions=True,
        )
        for result in results:
            if result is not None:
                raise result

    async def _load_directory(self, path: str, directory: LogDirectory) -> None:
        """As in Kafka, a directory that cannot be read does not keep the others from serving."""
        if directory.failure is None:
            try:
                await directory.load(self.log_config, self._belongs, self._was_deleted)
            except OSError as problem:
                if path == self.config.metadata_log_dir:
                    raise
                _without(directory, problem)

    def _belongs(self, named: TopicPartition, topic_id: bytes | None) -> bool:
        name, index = named
        topic = self.metadata.image.topic(name)
        if topic is None or index >= len(topic.partitions):
            return False
        return topic_id is None or topic_id == topic.topic_id

    def _was_deleted(self, topic_id: bytes | None) -> bool:
        return topic_id in self.metadata.image.deleted_topics

    async def _raise_leader_epochs(self) -> None:
        """A start is a new leadership: readers can tell that a crash may have cut the log."""
        changes = [
            LeaderEpochsRaised(
                topic.name,
                topic.topic_id,
                tuple(partition.leader_epoch + 1 for partition in topic.partitions),
            )
            for topic in self.metadata.image.topics_sorted()
        ]
        if changes:
            await self.metadata.commit(changes)

    async def _raise_leader_epochs_if_there_is_room(self) -> bool:
        """A full disk is no reason to refuse readers."""
        try:
            await self._raise_leader_epochs()
        except OSError as problem:
            if not is_lack_of_room(problem):
                raise
            _log.error("no records are taken until there is room: %s", problem)
            return False
        return True

    async def _become_leader(self) -> None:
        """Before the first append: what a start on a full disk could not do."""
        async with self._changing:
            if not any(each.before_append for each in self.partitions):
                return
            try:
                await self._raise_leader_epochs()
            except OSError as problem:
                raise KafkaError(
                    ErrorCode.KAFKA_STORAGE_ERROR, f"the metadata cannot be written: {problem}"
                ) from problem
            for partition in self.partitions:
                topic = self.metadata.image.topics[partition.topic]
                partition.before_append = None
                partition.leader_epoch = topic.partitions[partition.index].leader_epoch
                await partition.log.assign_leader_epoch(partition.leader_epoch)

    async def _adopt_logs(self) -> None:
        image, directories = self.metadata.image, self.partitions.directories
        for path, directory in directories.items():
            for log in directory.logs:
                await self.partitions.adopt(log, path, image.topics[log.topic])
        if not all(directory.is_loaded for directory in directories.values()):
            self.partitions.leave_out_of_reach(image)
        # A crash may have come between a topic's creation and that of its logs.
        await self.partitions.follow(image, sorted(image.topics))

    async def _listen(self) -> None:
        advertised = {entry.name: entry for entry in self.config.advertised_listeners}
        for entry in self.config.client_listeners:
            bound = await self.server.listen(entry.name, Address(entry.bind_host, entry.port))
            told = advertised.get(entry.name, entry)
            self.addresses[entry.name] = Address(told.host or bound.host, told.port or bound.port)

    async def change(self, decide: Callable[[], Sequence[Change]]) -> None:
        """Durable first, then visible here. Raises OSError when it is not made durable.

        `decide` is called when all earlier changes are made. What the disk refuses to do for a
        change that is durable is done later: see `catch_up`.
        """
        async with self._changing:
            changes = decide()
            if changes:
                await self.metadata.commit(changes)
                await self._carry_out(changes)

    async def _carry_out(self, changes: Sequence[Change]) -> None:
        changed_topics: dict[str, None] = {}
        configured: dict[str | None, None] = {}
        for change in changes:
            match change:
                case TopicCreated(name=name) | PartitionsAdded(name=name):
                    changed_topics[name] = None
                case TopicDeleted(name=name):
                    changed_topics[name] = None
                    self.metrics.topic_deleted(name)
                case ConfigChanged(resource_type=ResourceType.TOPIC, resource_name=name):
                    configured[name] = None
                case ConfigChanged():
                    configured[None] = None
                case ProducerIdsAllocated() | LeaderEpochsRaised() | DeletionsRemembered():
                    pass
                case PartitionsChanged() | BrokerRegistered() | BrokerChanged():
                    pass
                case BrokerUnregistered() | BrokerEpochsUsed():
                    pass
        if None in configured:
            self.config = stored.broker_config(
                self._file_config, self.metadata.image.broker_configs(self.node_id)
            )
        for topic in configured:
            self.partitions.reconfigure(topic)
        await self.partitions.follow(self.metadata.image, changed_topics)

    async def catch_up(self) -> None:
        """Does what a disk refused when the metadata changed."""
        if self.partitions.is_behind:
            async with self._changing:
                await self.partitions.follow(self.metadata.image)

    async def stop(self) -> None:
        """Clean: nothing has to be scanned at the next start."""
        await _in_context(self._context, self._stop())

    async def _stop(self) -> None:
        await self.server.close()
        await self._housekeeping.stop()
        for path, directory in self.partitions.directories.items():
            try:
                await directory.close()
            except OSError as problem:
                _log.error("%s: the next start has to scan its logs: %s", path, problem)


async def _in_context(context: Context, work: Coroutine[Any, Any, _Result]) -> _Result:
    return await asyncio.get_running_loop().create_task(work, context=context)


async def _identify(directories: Mapping[str, LogDirectory], metadata_log_dir: str) -> None:
    """Before anything in them is touched: all are this node's, and of one cluster."""
    clusters: dict[str, str] = {}
    for path, directory in directories.items():
        try:
            clusters[path] = (await directory.identify()).cluster_id
        except OSError as problem:
            if path == metadata_log_dir:
                raise
            _without(directory, problem)
    if len(set(clusters.values())) > 1:
        each = ", ".join(f"{path} to {cluster}" for path, cluster in clusters.items())
        raise WrongDirectoryError(f"log.dirs belong to different clusters: {each}")


def _without(directory: LogDirectory, problem: OSError) -> None:
    directory.failure = problem
    _log.error("%s cannot be read; going on without it: %s", directory.path, problem)
