"""One node: its part in the quorum, its logs, its servers; started, changed, stopped."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from contextvars import Context, copy_context
from typing import Any, TypeVar

from broker.active_controller import ActiveController
from broker.api.controller_table import CONTROLLER_TABLE
from broker.api.fetch_sessions import FetchSessions
from broker.api.request import HERE, Request
from broker.api.served import Api
from broker.api.table import API_TABLE
from broker.broker_role import BrokerRole
from broker.change_journal import ChangeJournal
from broker.config import stored
from broker.config.broker import BrokerConfig
from broker.config.topic import LogConfig
from broker.controller.topic_rules import RulesOf, TopicRules
from broker.decision import Decision, changes_of
from broker.group_coordinator import GroupCoordinator
from broker.group_lag import GroupLag
from broker.log.breather import Breather
from broker.log.identity import WrongDirectoryError
from broker.log.log_directory import LogDirectory
from broker.metadata.changes import Change, ConfigChanged, ResourceType
from broker.metadata.ids import ZERO_ID
from broker.metadata.image import Image
from broker.network.interface import Address
from broker.observe.metrics import Metrics, ProcessFigures
from broker.protocol import messages as m
from broker.protocol.apis import API_VERSIONS, ApiKey
from broker.protocol.errors import ErrorCode, KafkaError
from broker.quorum.assembly import open_quorum
from broker.quorum.quorum import NotLeaderError, Quorum
from broker.quorum.replay import Replay
from broker.server.server import Server
from broker.to_controller import ToController
from broker.transaction_coordinator import TransactionCoordinator
from broker.transaction_verification import TransactionVerification
from broker.watchers import wait_for_any
from broker.world import World, current_node

_log = logging.getLogger(__name__)

_SESSION_EVICTION_S = 120.0
_CATCH_UP_S = 1.0

_Result = TypeVar("_Result")


class Node:
    """Made by `Node.start`. Everything it touches outside itself is in its world."""

    quorum: Quorum
    metadata: Replay
    controller: ActiveController

    def __init__(
        self,
        config: BrokerConfig,
        world: World,
        directories: dict[str, LogDirectory],
        metrics: Metrics,
    ) -> None:
        """Called in the context that all of the node's tasks are to have."""
        self.node_id = config.node_id
        self.world = world
        self.metrics = metrics
        self.config = self._file_config = config
        self._log_configs = stored.LogConfigs()
        self.cluster_id = directories[config.metadata_log_dir].cluster_id
        self.addresses: dict[str, Address] = {}  # what clients are told, by listener
        self.failed: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
        """Done when this node must not go on; whoever runs it has to stop it."""

        self.fetch_sessions = FetchSessions(
            slots=config.max_incremental_fetch_session_cache_slots,
            eviction_s=_SESSION_EVICTION_S,
            random=world.random,
        )
        self.change_journal = ChangeJournal()
        self.server = Server(self, API_TABLE)
        self.controller_server = Server(
            self, CONTROLLER_TABLE, lambda peer: self.controller.connection_closed(peer)
        )
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._context = copy_context()
        self.groups = GroupCoordinator(self)
        self.transactions = TransactionCoordinator(self)
        self.group_lag = GroupLag(self)
        self.verification = TransactionVerification(self)
        self.role = BrokerRole(self, directories)
        self.partitions = self.role.partitions
        self.producer_ids = self.role.producer_ids

    @classmethod
    async def start(
        cls,
        config: BrokerConfig,
        world: World,
        *,
        process_figures: Callable[[], ProcessFigures] | None = None,
        on_made: Callable[[Node], None] | None = None,
    ) -> Node:
        """A node that is alone is ready when this returns; one among others when `ready` does.

        `on_made` is for those who look on while it starts: told of it before it does anything.
        Raises NotFormattedError, WrongDirectoryError, QuorumStateError or SnapshotCorruptError,
        whose sentences are for the user.
        """
        context = copy_context()
        context.run(current_node.set, str(config.node_id))
        metrics = Metrics(process_figures)
        return await _in_context(context, cls._start(config, world, metrics, on_made))

    @classmethod
    async def _start(
        cls,
        config: BrokerConfig,
        world: World,
        metrics: Metrics,
        on_made: Callable[[Node], None] | None,
    ) -> Node:
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
        node = cls(config, world, directories, metrics)
        if on_made is not None:
            on_made(node)
        try:
            await node._start_quorum()
            if config.is_broker:
                await node.role.start()
            if not config.controller_quorum_voters:
                await node.ready()
        except BaseException:
            # A port that is taken must not cost the next start a scan of all logs.
            await node._stop()
            raise
        return node

    async def _start_quorum(self) -> None:
        config = self.config
        self.quorum = await open_quorum(
            config,
            self.world,
            self.cluster_id,
            now=asyncio.get_running_loop().time(),
            on_applied=self._applied,
            on_fatal=self.fail,
        )
        self.metadata = self.quorum.replay
        self.reload_config()
        balance_s = config.leader_imbalance_check_interval_seconds
        self.controller = ActiveController(
            self.quorum,
            session_timeout_s=config.broker_session_timeout_ms / 1000,
            rules_of=self.topic_rules,
            balance_every_s=balance_s if config.auto_leader_rebalance_enable else None,
            imbalance_percentage=config.leader_imbalance_per_broker_percentage,
            network=self.world.network,
            address_of=self.role.address_of,
            spawn=self.spawn,
        )
        self.forwarding = self.to_controller("forwarding")
        for entry in config.controller_listeners:
            address = Address(entry.bind_host, entry.port)
            await self.controller_server.listen(entry.name, address)
        self.controller_server.open()
        self.quorum.start()
        if config.is_controller:
            self.spawn(self.controller.run())

    # What others look at

    @property
    def advertised(self) -> Address:
        """Of the first listener."""
        return next(iter(self.addresses.values()))

    def address_for(self, listener: str) -> Address:
        """What a client is told that came by this listener."""
        return self.addresses.get(listener) or self.advertised

    def log_config(self, topic: str) -> LogConfig:
        return self._log_configs.of(self.config, topic, self.metadata.image.topic_configs(topic))

    def topic_rules(self, topic: str) -> TopicRules:
        return _rules(self.log_config(topic))

    def rules_in(self, image: Image) -> RulesOf:
        """As `topic_rules`, by another image than the present one."""
        dynamic = image.broker_configs(self.node_id)
        config = stored.broker_config(self._file_config, dynamic)
        return lambda topic: _rules(stored.log_config(config, topic, image.topic_configs(topic)))

    def _applied(self, changes: Sequence[Change] | None) -> None:
        """The next decision may come at once, also where no broker follows the image."""
        if changes is None or any(_concerns_brokers(each) for each in changes):
            self.reload_config()
        if self.config.is_broker:
            self.role.follower.applied(changes)
            self.groups.applied(changes)

    def reload_config(self) -> None:
        """What the image says of this node, over what its file says."""
        dynamic = self.metadata.image.broker_configs(self.node_id)
        self.config = stored.broker_config(self._file_config, dynamic)
        self.server.limits_changed()
        self.controller_server.limits_changed()

    def log_levels_changed(self) -> None:
        for server in (self.server, self.controller_server):
            server.dispatcher.request_log.level_changed()

    async def ready(self) -> None:
        """Until clients are served. Raises what keeps the node from ever being so."""
        if self.config.is_broker:
            waiting: asyncio.Future[Any] = asyncio.ensure_future(self.role.ready())
            both: list[asyncio.Future[Any]] = [waiting, self.failed]
            try:
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            finally:
                waiting.cancel()
        if self.failed.done():
            raise self.failed.result()

    # Changes

    async def change(self, decide: Decision) -> None:
        """As the active controller: durable, in the image, and followed by this node's own logs.

        `decide` is called once, when all earlier changes are made. On a node that is no controller
        it is called, too, for what it finds wrong, and then KafkaError(NOT_CONTROLLER) is raised.
        """
        is_decided = False

        async def decide_once() -> Sequence[Change]:
            nonlocal is_decided
            is_decided = True
            return await changes_of(decide)

        try:
            await self.controller.decide(decide_once)
        except NotLeaderError as problem:
            if not is_decided:
                await changes_of(decide)
            raise KafkaError(ErrorCode.NOT_CONTROLLER, str(problem)) from problem
        if self.config.is_broker and self.role.is_following:
            await self.role.follower.until_followed()

    async def know_what_was_changed(self, answer: Any) -> None:
        """Whoever created a topic by this node shall find it here, as far as that can be had soon.

        The controller's answer comes as soon as the change is committed, and often before this
        node has heard of it.
        """
        if not isinstance(answer, m.CreateTopicsResponse):
            return
        wanted = [each.topic_id for each in answer.topics if each.topic_id != ZERO_ID]
        loop = asyncio.get_running_loop()
        until = loop.time() + _CATCH_UP_S
        image = self.metadata.image
        while loop.time() < until and not all(each in image.names_by_id for each in wanted):
            await wait_for_any([self.quorum.changed], min(until, loop.time() + 0.01))
        if self.role.is_following:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(until):
                    await self.role.follower.until_followed()

    def to_controller(self, purpose: str) -> ToController:
        """A way of its own to the active controller."""
        config = self.config
        return ToController(
            purpose,
            node_id=self.node_id,
            leader_id=lambda: self.quorum.leader_id,
            here=self._ask_here,
            voters=self.quorum.settings.voters,
            network=self.world.network,
            random=self.world.random,
            backoff_s=config.controller_quorum_retry_backoff_ms / 1000,
            backoff_max_s=1.0,
        )

    async def _ask_here(self, api_key: ApiKey, body: Any) -> Any:
        return await self._handled(CONTROLLER_TABLE[api_key], api_key, body)

    async def ask_own_broker(self, api_key: ApiKey, body: Any) -> Any:
        """What another broker would be answered."""
        return await self._handled(API_TABLE[api_key], api_key, body)

    async def _handled(self, api: Api, api_key: ApiKey, body: Any) -> Any:
        request = Request(api_key, API_VERSIONS[api_key][1], 0, None, HERE, body)
        answer = api.handler(self, request)
        return await answer if asyncio.iscoroutine(answer) else answer

    # Tasks, and the end

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Ends with the node. What it raises ends the node."""
        task = self.spawn_task(work)
        assert not task.done()

    def spawn_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[task] = None
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.fail(error)

    def fail(self, error: BaseException) -> None:
        if not self.failed.done():
            _log.critical("this node cannot go on: %s", error, exc_info=error)
            self.failed.set_result(error)

    async def stop(self) -> None:
        """Clean: nothing has to be scanned at the next start, and others lead already."""
        await _in_context(self._context, self._stop())

    async def _stop(self) -> None:
        if self.failed.done():
            # Whatever has failed, nobody shall count on this node's votes while it ends.
            await self.controller_server.turn_away()
        await self.role.leave()
        await self.server.close()
        await self.role.stop()
        self.group_lag.close()
        self.verification.close()
        if hasattr(self, "quorum"):
            if not self.failed.done():
                with suppress(TimeoutError):
                    async with asyncio.timeout(self.quorum.settings.request_timeout_s):
                        await self.quorum.resign()
            await self.controller_server.close()
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks))
        if hasattr(self, "quorum"):
            self.controller.close()
            await self.quorum.stop()


def _concerns_brokers(change: Change) -> bool:
    return isinstance(change, ConfigChanged) and change.resource_type != ResourceType.TOPIC


def _rules(config: LogConfig) -> TopicRules:
    return TopicRules(
        min_isr=config.min_insync_replicas, unclean=config.unclean_leader_election_enable
    )


async def _in_context(context: Context, work: Coroutine[Any, Any, _Result]) -> _Result:
    return await asyncio.get_running_loop().create_task(work, context=context)


async def _identify(directories: Mapping[str, LogDirectory], metadata_log_dir: str) -> None:
    """Before anything in them is touched: all are this node's, of one cluster, and no copies."""
    clusters: dict[str, str] = {}
    paths: dict[str, str] = {}
    for path, directory in directories.items():
        try:
            identity = await directory.identify()
        except OSError as problem:
            if path == metadata_log_dir:
                raise
            directory.go_without(problem)
            continue
        clusters[path] = identity.cluster_id
        twin = paths.setdefault(identity.directory_id or path, path)
        if twin != path:
            raise WrongDirectoryError(
                f"{twin} and {path} have the same directory.id: one is a copy of the other"
            )
    if len(set(clusters.values())) > 1:
        each = ", ".join(f"{path} to {cluster}" for path, cluster in clusters.items())
        raise WrongDirectoryError(f"log.dirs belong to different clusters: {each}")
