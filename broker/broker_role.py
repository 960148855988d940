"""What a node does as a broker: holds partitions, serves clients, keeps its place."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING

from broker.directory_assignments import DirectoryAssignments
from broker.housekeeping import Housekeeping
from broker.image_follower import ImageFollower
from broker.isr_proposals import IsrProposals
from broker.life_notes import LifeNotes
from broker.log.broker_life import Life
from broker.log.identity import id_of_text
from broker.log.log_directory import LogDirectory
from broker.membership import Card, Membership
from broker.metadata.broker_info import UNKNOWN_BROKER_EPOCH, Endpoint
from broker.metadata.ids import new_id
from broker.metadata.producer_ids import Block, ProducerIds
from broker.network.interface import Address
from broker.offline_directories import OfflineDirectories
from broker.partition import Partition, Surroundings
from broker.partitions import Partitions
from broker.peers.backoff import Backoff
from broker.peers.channel import UnansweredError
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode, KafkaError, error_name
from broker.replica_fetcher import FetcherSettings
from broker.replica_fetchers import FetcherWorld, ReplicaFetchers
from broker.replica_moves import ReplicaMoves
from broker.replication.own_registration import knows_this_life
from broker.to_controller import ToController
from broker.watchers import EVER, wait_for_any

if TYPE_CHECKING:
    from broker.node import Node

_log = logging.getLogger(__name__)

NO_TOPIC_ID = bytes(16)


class BrokerRole:
    """Made with the node; a node that is only a controller never starts it."""

    membership: Membership
    to_producer_ids: ToController
    fetchers: ReplicaFetchers
    proposals: IsrProposals
    assignments: DirectoryAssignments
    offline: OfflineDirectories
    moves: ReplicaMoves

    def __init__(self, node: Node, directories: dict[str, LogDirectory]) -> None:
        self._node = node
        self.follower = ImageFollower(node, self._on_ready)
        self.producer_ids = ProducerIds(self._allocate_producer_ids)
        self.is_following = False
        self.is_configured = False
        """What topics are configured to be is known: before, nothing may be deleted by it."""
        self._is_started = False
        self._housekeeping = Housekeeping(node)
        self.partitions = Partitions(
            directories,
            node.log_config,
            Surroundings(
                node.node_id,
                lambda: node.config.replica_lag_time_max_ms / 1000,
                lambda: node.metadata.image.brokers,
                lambda partition, proposal: self.proposals.propose(partition, proposal),
                self.lose_trust,
                node.change_journal,
            ),
            self._role_changed,
            lambda: node.config.cordoned_log_dirs,
            self._before_leaving,
        )
        self.life_notes = LifeNotes(directories, node.world.boot_id, lambda: self.broker_epoch)

    @property
    def broker_epoch(self) -> int | None:
        return self.membership.broker_epoch if self._is_started else None

    async def start(self) -> None:
        """Its ports are open afterwards, but nobody is served before the node is let in."""
        node = self._node
        await self._load_logs()
        await self._listen()
        self.proposals = self._make_proposals()
        self.fetchers = self._make_fetchers()
        directory_ids = _ids_of(self.partitions.directories)
        self.offline = OfflineDirectories(self.partitions.directories, directory_ids)
        self.assignments = self._make_assignments(directory_ids)
        self.moves = ReplicaMoves(
            node.node_id,
            self.partitions.directories,
            directory_ids,
            random=node.world.random,
            spawn=node.spawn_task,
            announce=self.assignments.look_at,
            bytes_per_s=lambda: node.config.replica_alter_log_dirs_io_max_bytes_per_second,
        )
        self.membership = self._make_membership(directory_ids)
        self.to_producer_ids = node.to_controller("producer-ids")
        self._is_started = True
        node.spawn(self.membership.run())
        node.spawn(self.proposals.run())
        node.spawn(self.assignments.run())
        node.spawn(self.life_notes.run())
        node.spawn(self.follower.run())
        self._housekeeping.start()
        self.is_following = True

    async def ready(self) -> None:
        """Until clients can do whatever they like, or all that a full disk allows."""
        quorum = self._node.quorum
        while not self.membership.is_let_in.is_set():
            if quorum.no_room is not None and len(self._node.config.voter_ids) == 1:
                await self._serve_readers()
                return
            await wait_for_any([quorum.changed, self.membership.changed], EVER)
        await self.follower.until_followed()

    async def _serve_readers(self) -> None:
        """A full disk is no reason to refuse them. What the only voter has is committed."""
        node = self._node
        await node.metadata.committed(node.quorum.log.end_offset)
        await node.metadata.until(node.quorum.log.end_offset)
        self.take_configuration()
        await self.sort_out_logs()
        held = [(each.topic, each.index) for each in self.partitions]
        await self.partitions.follow(node.metadata.image, held)
        for partition in self.partitions:
            # Not before it leads: a leadership that begins takes everything.
            partition.before_append = _refuse_for_lack_of_room
        node.server.open()

    def take_configuration(self) -> None:
        """The image holds all that was decided before this life of the broker."""
        self.partitions.reconfigure()
        self.is_configured = True

    def _on_ready(self) -> None:
        """The partitions are what the image says: clients are welcome."""
        self._node.server.open()
        self.membership.hurry()

    # Starting

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
                boot_id = self._node.world.boot_id
                for log in await directory.load(self._node.log_config, boot_id=boot_id):
                    await self.partitions.adopt(log, path, log.topic_id or NO_TOPIC_ID)
            except OSError as problem:
                if path == self._node.config.metadata_log_dir:
                    raise
                directory.go_without(problem)

    async def _listen(self) -> None:
        node = self._node
        advertised = {entry.name: entry for entry in node.config.advertised_listeners}
        for entry in node.config.client_listeners:
            bound = await node.server.listen(entry.name, Address(entry.bind_host, entry.port))
            told = advertised.get(entry.name, entry)
            node.addresses[entry.name] = Address(told.host or bound.host, told.port or bound.port)

    def _make_membership(self, directory_ids: dict[str, bytes]) -> Membership:
        node, config = self._node, self._node.config
        lives = [each.last_life for each in self.partitions.directories.values()]
        card = Card(
            broker_id=node.node_id,
            cluster_id=node.cluster_id,
            incarnation_id=new_id(node.world.random),
            endpoints=tuple(Endpoint(name, *address) for name, address in node.addresses.items()),
            rack=config.broker_rack,
            log_dirs=tuple(directory_ids.values()),
            last_life=_last_life(lives),
        )
        return Membership(
            card,
            node.to_controller("membership"),
            heartbeat_s=config.broker_heartbeat_interval_ms / 1000,
            session_s=config.broker_session_timeout_ms / 1000,
            timeout_s=config.controller_quorum_request_timeout_ms / 1000,
            backoff=self._backoff(),
            metadata_offset=lambda: node.metadata.applied_offset,
            is_ready=lambda epoch: self.follower.ready_epoch == epoch,
            offline_dirs=self.offline.ids,
            on_registered=self.follower.look,
        )

    def _make_proposals(self) -> IsrProposals:
        node = self._node
        return IsrProposals(
            node.node_id,
            node.to_controller("in-sync"),
            broker_epoch=lambda: self.broker_epoch,
            timeout_s=node.config.controller_quorum_request_timeout_ms / 1000,
            backoff=self._backoff(),
        )

    def _make_assignments(self, directory_ids: dict[str, bytes]) -> DirectoryAssignments:
        node = self._node
        return DirectoryAssignments(
            node.node_id,
            node.to_controller("directories"),
            ids=directory_ids,
            broker_epoch=lambda: self.broker_epoch,
            timeout_s=node.config.controller_quorum_request_timeout_ms / 1000,
            backoff=self._backoff(),
        )

    def _make_fetchers(self) -> ReplicaFetchers:
        node, config = self._node, self._node.config
        settings = FetcherSettings(
            node_id=node.node_id,
            timeout_s=config.replica_socket_timeout_ms / 1000,
            wait_max_ms=config.replica_fetch_wait_max_ms,
            min_bytes=config.replica_fetch_min_bytes,
            partition_bytes=config.replica_fetch_max_bytes,
            response_bytes=config.replica_fetch_response_max_bytes,
        )
        world = FetcherWorld(
            network=node.world.network,
            random=node.world.random,
            spawn=node.spawn_task,
            address_of=self.address_of,
            broker_epoch=lambda: self.broker_epoch,
            rest_max_s=config.replica_fetch_backoff_ms / 1000,
        )
        return ReplicaFetchers(settings, world)

    async def _allocate_producer_ids(self) -> Block:
        """Raises UnansweredError."""
        node, config, epoch = self._node, self._node.config, self.broker_epoch
        answer: m.AllocateProducerIdsResponse = await self.to_producer_ids.ask(
            ApiKey.ALLOCATE_PRODUCER_IDS,
            m.AllocateProducerIdsRequest(
                broker_id=node.node_id,
                broker_epoch=UNKNOWN_BROKER_EPOCH if epoch is None else epoch,
            ),
            timeout_s=config.controller_quorum_request_timeout_ms / 1000,
        )
        if answer.error_code:
            raise UnansweredError(f"no producer ids: {error_name(answer.error_code)}")
        return Block(answer.producer_id_start, answer.producer_id_len)

    def _backoff(self) -> Backoff:
        first_s = self._node.config.controller_quorum_retry_backoff_ms / 1000
        return Backoff(first_s, 1.0, self._node.world.random)

    # In step with the image

    def knows_itself(self, broker_epoch: int) -> bool:
        """Whether the image has come to this life of the broker."""
        return knows_this_life(self._node.metadata.image.brokers, self._node.node_id, broker_epoch)

    def brokers_changed(self) -> None:
        self.partitions.brokers_changed()
        self.fetchers.addresses_changed(lambda: list(self.partitions))

    async def sort_out_logs(self) -> None:
        """What the disks hold against what the image knows, at the first look and at a new one."""
        image, directories = self._node.metadata.image, self.partitions.directories
        for partition in self.partitions:
            topic = image.topic(partition.topic)
            if topic is not None and partition.topic_id == NO_TOPIC_ID:
                partition.topic_id = topic.topic_id  # the name is all that is known
            is_known = topic is not None and partition.topic_id == topic.topic_id
            if not is_known and partition.topic_id not in image.deleted_topics:
                await self.partitions.leave_stray(partition)
        if not all(directory.is_loaded for directory in directories.values()):
            self.partitions.leave_out_of_reach(image)

    async def note_life(self, broker_epoch: int) -> None:
        """Before the broker can be counted on."""
        await self.life_notes.write(broker_epoch)

    def _role_changed(self, partition: Partition) -> None:
        is_held = self.partitions.find(partition.topic, partition.index) is partition
        self.fetchers.role_changed(partition, is_held)
        self._node.groups.role_changed(partition, is_held)
        self._node.transactions.role_changed(partition, is_held)
        if is_held:
            self.assignments.look_at(partition)
            self.moves.role_changed(partition)

    async def _before_leaving(self, partition: Partition) -> None:
        if self._is_started:
            await self.moves.stop(partition)

    def address_of(self, broker_id: int) -> Address | None:
        """Where other nodes reach that broker."""
        broker = self._node.metadata.image.brokers.get(broker_id)
        if broker is None:
            return None
        name = self._node.config.inter_broker_listener_name
        for endpoint in broker.endpoints:
            # A node that is only a controller may not know how brokers reach each other.
            if endpoint.name == name or not name:
                return Address(endpoint.host, endpoint.port)
        return None

    async def lose_trust(self, why: str) -> None:
        """A disk that forgot what was written is no better than a machine that lost its power.

        Where no directory can say so at the next start, there may be none.
        """
        _log.error("this broker begins anew in the cluster: %s", why)
        self.membership.begin_harmed_life(new_id(self._node.world.random))
        problem = await self.life_notes.take_back()
        if problem is not None:
            self._node.fail(problem)

    # Stopping

    async def leave(self) -> None:
        """Others shall lead before this one is gone."""
        node = self._node
        if not self._is_started or node.failed.done():
            return
        others = [each for each in node.metadata.image.brokers if each != node.node_id]
        if others and node.config.controlled_shutdown_enable and self.membership.is_let_in.is_set():
            await self.membership.leave(node.config.broker_session_timeout_ms / 1000)

    async def stop(self) -> None:
        await self._housekeeping.stop()
        self._node.groups.close()
        self._node.transactions.close()
        if self._is_started:
            await self.moves.close()
            self.fetchers.close()
        directories = self.partitions.directories
        closed = [
            path
            for path, directory in directories.items()
            if await _is_done(path, directory.close_logs())
        ]
        epoch = self.broker_epoch
        if self.life_notes.is_in_doubt:
            # The other directories must not vouch for it either.
            await self.life_notes.take_back()
            epoch = None
        for path in closed:
            await _is_done(path, directories[path].close(epoch))


async def _is_done(path: str, closing: Awaitable[None]) -> bool:
    try:
        await closing
    except asyncio.CancelledError:
        return False
    except OSError as problem:
        _log.error("%s: the next start has to scan its logs: %s", path, problem)
        return False
    return True


def _ids_of(directories: Mapping[str, LogDirectory]) -> dict[str, bytes]:
    """Of those that could be read; nothing if one of them has none.

    The others could not be told from it, and would be taken for all that there are.
    """
    known = {path: each.identity for path, each in directories.items() if each.identity is not None}
    try:
        return {path: id_of_text(each.directory_id) for path, each in known.items()}
    except ValueError:
        return {}


async def _refuse_for_lack_of_room() -> None:
    raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "the metadata cannot be written: no room")


def _last_life(lives: list[Life]) -> Life:
    """Of all directories together: one that is harmed, or was not there, is enough.

    If their epochs differ, the note of the later life may have been written to some of them only:
    then all of them vouch for the earlier one, and the controller knows whether that is enough.
    """
    if all(life.is_unharmed for life in lives):
        return min(lives)
    return Life(max(life.broker_epoch for life in lives), is_unharmed=False)
