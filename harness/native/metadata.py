"""What a client knows about topics and their leaders, and when it asks again.

Answers may be older than what is known, from a broker that was cut off. A leader is replaced only
by one of a later epoch (KIP-320); an epoch of another topic of the same name does not count.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from broker.network.interface import Address
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from broker.protocol.schema import ZERO_UUID
from harness.native.errors import (
    BrokerError,
    NodeUnreachableError,
    NoLeaderError,
    known_code,
)
from harness.native.nodes import Nodes
from harness.native.settings import ClientSettings

NO_NODE = -1
_FIRST_WITHOUT_AUTO_CREATION = 4
"""Before it a question for a topic that was deleted may create it."""
_FIRST_WITH_IDS = 10


@dataclass(frozen=True, slots=True)
class PartitionView:
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...]
    error: ErrorCode


@dataclass(frozen=True, slots=True)
class TopicView:
    name: str
    topic_id: bytes
    partitions: dict[int, PartitionView]


@dataclass(frozen=True, slots=True)
class Leader:
    node_id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class ClusterView:
    """One broker's answer."""

    brokers: dict[int, Address]
    controller_id: int
    cluster_id: str | None
    topics: dict[str, TopicView] = field(default_factory=dict)
    errors: dict[str, ErrorCode] = field(default_factory=dict)


class Metadata:
    def __init__(self, nodes: Nodes, settings: ClientSettings) -> None:
        self._nodes = nodes
        self._settings = settings
        self._topics: dict[str, TopicView] = {}
        self._errors: dict[str, ErrorCode] = {}
        self._wanted: dict[str, None] = {}
        self._refreshing = asyncio.Lock()
        self._answers = 0
        self._is_stale = True
        self.controller_id = NO_NODE
        self._at_least = _FIRST_WITHOUT_AUTO_CREATION

    def need_ids(self) -> None:
        """From now on topics are known by id as well: a member of the new protocol needs that."""
        if self._at_least < _FIRST_WITH_IDS:
            self._at_least = _FIRST_WITH_IDS

    def invalidate(self) -> None:
        """The next who asks for a leader looks again."""
        self._is_stale = True

    def topic(self, name: str) -> TopicView | None:
        return self._topics.get(name)

    def topic_id(self, name: str) -> bytes:
        known = self._topics.get(name)
        return ZERO_UUID if known is None else known.topic_id

    def topic_name(self, topic_id: bytes) -> str | None:
        for each in self._topics.values():
            if each.topic_id == topic_id:
                return each.name
        return None

    async def leader(self, topic: str, partition: int) -> Leader:
        """Whom to ask, as far as is known after at most one look."""
        if self._is_stale or topic not in self._topics or self._known(topic, partition) is None:
            self._wanted[topic] = None
            await self.refresh()
        found = self._known(topic, partition)
        if found is not None:
            return found
        error = self._errors.get(topic, ErrorCode.NONE)
        if error != ErrorCode.NONE:
            raise BrokerError(error, place=topic)
        if topic in self._topics and partition not in self._topics[topic].partitions:
            raise BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, place=f"{topic}-{partition}")
        raise NoLeaderError(f"{topic}-{partition} has no leader")

    async def controller(self) -> int:
        if self._is_stale or self.controller_id == NO_NODE:
            await self.refresh()
        if self.controller_id == NO_NODE:
            raise NoLeaderError("the cluster has no controller")
        return self.controller_id

    async def refresh(self) -> None:
        """Many may ask at once; those who waited for another's answer are content with it."""
        answers = self._answers
        async with self._refreshing:
            if self._answers == answers:
                self._take(await self._ask_anyone())

    async def view(self, node_id: int, topics: Sequence[str] | None) -> ClusterView:
        """What this very node says now, not merged with what is known. None: of all topics."""
        timeout_s = self._settings.metadata_timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                connection = await self._nodes.connection(node_id)
        except TimeoutError:
            raise NodeUnreachableError(f"node {node_id}: no connection in time") from None
        version = connection.version_of(ApiKey.METADATA, at_least=self._at_least)
        asked: list[m.MetadataRequestTopic] | None = None
        if topics is not None:
            asked = [m.MetadataRequestTopic(name=name) for name in topics]
        body = m.MetadataRequest(topics=asked, allow_auto_topic_creation=False)
        return _view(await connection.ask(ApiKey.METADATA, version, body, timeout_s))

    def learn_leader(
        self, topic: str, partition: int, leader: Leader, addresses: dict[int, Address]
    ) -> None:
        """Take the current leader from a NOT_LEADER_OR_FOLLOWER response (KIP-951)."""
        known = self._topics.get(topic)
        if known is None or partition not in known.partitions or leader.node_id < 0:
            return
        before = known.partitions[partition]
        if leader.epoch > before.leader_epoch:
            self._nodes.learn(addresses)
            self._note_leader(topic, partition, leader)
            known.partitions[partition] = PartitionView(
                leader.node_id,
                leader.epoch,
                before.replicas,
                before.isr,
                before.offline,
                ErrorCode.NONE,
            )

    def _known(self, topic: str, partition: int) -> Leader | None:
        known = self._topics.get(topic)
        view = None if known is None else known.partitions.get(partition)
        if view is None or view.leader < 0:
            return None
        return Leader(view.leader, view.leader_epoch)

    async def _ask_anyone(self) -> ClusterView:
        async def ask(node_id: int) -> ClusterView:
            return await self.view(node_id, list(self._wanted))

        return await self._nodes.first_answer(ask, self._settings.metadata_timeout_s)

    def _take(self, view: ClusterView) -> None:
        self._answers += 1
        self._is_stale = False
        self._nodes.learn(view.brokers)
        self.controller_id = view.controller_id
        self._errors = view.errors
        for name in view.errors:
            self._topics.pop(name, None)
        for name, topic in view.topics.items():
            before = self._topics.get(name)
            self._topics[name] = after = _newer(before, topic)
            if self._settings.requests is not None:
                self._note_leaders(before, after)

    def _note_leaders(self, before: TopicView | None, after: TopicView) -> None:
        known = {} if before is None else before.partitions
        for index, view in after.partitions.items():
            was = known.get(index)
            if was is None or (was.leader, was.leader_epoch) != (view.leader, view.leader_epoch):
                self._note_leader(after.name, index, Leader(view.leader, view.leader_epoch))

    def _note_leader(self, topic: str, partition: int, leader: Leader) -> None:
        if self._settings.requests is not None:
            self._settings.requests.leader(f"{topic}-{partition}", leader.node_id, leader.epoch)


def _newer(known: TopicView | None, said: TopicView) -> TopicView:
    if known is None or known.topic_id != said.topic_id:
        return said
    partitions = {
        index: known.partitions[index]
        if index in known.partitions and view.leader_epoch < known.partitions[index].leader_epoch
        else view
        for index, view in said.partitions.items()
    }
    return TopicView(said.name, said.topic_id, partitions)


def _view(answer: m.MetadataResponse) -> ClusterView:
    view = ClusterView(
        brokers={each.node_id: Address(each.host, each.port) for each in answer.brokers},
        controller_id=answer.controller_id,
        cluster_id=answer.cluster_id,
    )
    for topic in answer.topics:
        if topic.name is None:
            continue  # only when asked by id, and we never do
        if topic.error_code != ErrorCode.NONE:
            view.errors[topic.name] = known_code(topic.error_code)
            continue
        view.topics[topic.name] = TopicView(
            topic.name,
            topic.topic_id,
            {part.partition_index: _partition_view(part) for part in topic.partitions},
        )
    return view


def _partition_view(part: Any) -> PartitionView:
    return PartitionView(
        leader=part.leader_id,
        leader_epoch=part.leader_epoch,
        replicas=tuple(part.replica_nodes),
        isr=tuple(part.isr_nodes),
        offline=tuple(part.offline_replicas),
        error=known_code(part.error_code),
    )
