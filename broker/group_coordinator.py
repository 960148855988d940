"""The group coordinator of a node: the shards of `__consumer_offsets`, reached by group id."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from broker.coordination.internal_topics import InternalTopic
from broker.coordination.keyed_shards import KeyedShards
from broker.coordination.shards import Shards
from broker.coordination.step import Now, Step, Ticket
from broker.coordination.surroundings import ShardSettings, Surroundings
from broker.group_events import tell_of_step
from broker.groups.machine import GroupMachine
from broker.groups.settings import GroupSettings
from broker.metadata.changes import Change, PartitionsAdded, TopicCreated, TopicDeleted
from broker.metadata.ids import new_uuid_text
from broker.metadata.image import TopicInfo
from broker.metadata.internal_topics import GROUPS_TOPIC
from broker.partition import Partition

if TYPE_CHECKING:
    from broker.config.broker import BrokerConfig
    from broker.node import Node

Run = Callable[[GroupMachine, Ticket, Now], Step]


class GroupCoordinator:
    def __init__(self, node: Node) -> None:
        self._node = node
        self.shards = Shards(GROUPS_TOPIC, self.make_machine, self._surroundings)
        self.by_id = KeyedShards(self.shards, lambda: self.topic)

    def make_machine(self) -> GroupMachine:
        """One that has seen no record yet."""
        random = self._node.world.random
        return GroupMachine(
            group_settings(self._node.config),
            ImageTopics(self._node),
            lambda: new_uuid_text(random),
        )

    def _surroundings(self) -> Surroundings:
        config = self._node.config
        return Surroundings(
            self._node.world.clock,
            self._node.spawn,
            ShardSettings(
                load_buffer_bytes=config.offsets_load_buffer_size,
                commit_timeout_s=config.offsets_commit_timeout_ms / 1000,
                codec=config.offsets_topic_compression_codec,
            ),
            tell_of_step,
        )

    # Requests

    async def submit(self, group_id: str, run: Run) -> Any:
        """The reply of the group's machine. Raises KafkaError when this node cannot answer."""
        return await self.by_id.submit(group_id, run)

    def ask(self, group_id: str, run: Run) -> asyncio.Future[Any]:
        """As `submit`, for several questions at once: `await reply_of(...)` each afterwards."""
        return self.by_id.ask(group_id, run)

    def call(self, group_id: str, run: Run, replied: Callable[[Any], None]) -> None:
        """As `ask`, without a future: `replied` gets the reply, or a KafkaError. It may be called
        at once, and must not raise."""
        self.by_id.call(group_id, run, replied)

    def ask_all(self, run: Run) -> list[asyncio.Future[Any]]:
        """The same question to all partitions that this node leads, in their order."""
        return self.by_id.ask_all(run)

    def partition_of(self, group_id: str) -> int:
        """Raises KafkaError(NOT_COORDINATOR) while there is no topic."""
        return self.by_id.partition_of(group_id)

    def leads_for_certain(self, group_id: str) -> bool:
        """Whether no other broker can have become the group's coordinator for this one's silence.

        If it is false, only an append can tell: the other replicas take none of a deposed leader.
        """
        shard = self.shards.find(self.partition_of(group_id))
        membership = self._node.role.membership
        return shard is not None and membership.is_in_session_since(shard.led_at_s)

    @property
    def topic(self) -> TopicInfo | None:
        return self._node.metadata.image.topic(GROUPS_TOPIC)

    def topic_to_create(self) -> InternalTopic:
        """What Kafka makes of `__consumer_offsets` when the first group asks for it."""
        config = self._node.config
        return InternalTopic(
            name=GROUPS_TOPIC,
            partition_count=config.offsets_topic_num_partitions,
            replication_factor=config.offsets_topic_replication_factor,
            configs={
                "cleanup.policy": "compact",
                "segment.bytes": str(config.offsets_topic_segment_bytes),
                "compression.type": "producer",
            },
        )

    # What happens

    def role_changed(self, partition: Partition, is_held: bool) -> None:
        self.shards.role_changed(partition, is_held)

    def applied(self, changes: Sequence[Change] | None) -> None:
        """Right after the image has these changes; None when it is another image."""
        if changes is None:
            self.shards.tell_all(lambda machine, now: machine.topics_replaced(now))
            return
        changed: list[str] = []
        deleted: list[str] = []
        for change in changes:
            match change:
                case TopicCreated(name=name) | PartitionsAdded(name=name):
                    changed.append(name)
                case TopicDeleted(name=name):
                    deleted.append(name)
                case _:
                    pass
        if changed or deleted:
            self.shards.tell_all(lambda machine, now: machine.topics_changed(changed, deleted, now))

    def close(self) -> None:
        self.shards.close()


class ImageTopics:
    """Implements `groups.topics_view.TopicsView`."""

    def __init__(self, node: Node) -> None:
        self._metadata = node.metadata

    @property
    def version(self) -> int:
        return self._metadata.applied_offset

    def partition_count(self, topic: str) -> int | None:
        found = self._metadata.image.topic(topic)
        return None if found is None else len(found.partitions)

    def topic_id(self, topic: str) -> bytes | None:
        found = self._metadata.image.topic(topic)
        return None if found is None else found.topic_id

    def topic_name(self, topic_id: bytes) -> str | None:
        found = self._metadata.image.topic_by_id(topic_id)
        return None if found is None else found.name

    def names(self) -> Sequence[str]:
        return [topic.name for topic in self._metadata.image.topics_sorted()]

    def racks(self, topic: str, partition: int) -> Sequence[str]:
        image = self._metadata.image
        found = image.topic(topic)
        if found is None or partition >= len(found.partitions):
            return []
        brokers = (image.brokers.get(each) for each in found.partitions[partition].replicas)
        return sorted({each.rack for each in brokers if each is not None and each.rack})


def group_settings(config: BrokerConfig) -> GroupSettings:
    return GroupSettings(
        offset_metadata_max_bytes=config.offset_metadata_max_bytes,
        offsets_retention_ms=config.offsets_retention_minutes * 60_000,
        offsets_retention_check_interval_ms=config.offsets_retention_check_interval_ms,
        group_min_session_timeout_ms=config.group_min_session_timeout_ms,
        group_max_session_timeout_ms=config.group_max_session_timeout_ms,
        group_initial_rebalance_delay_ms=config.group_initial_rebalance_delay_ms,
        group_max_size=config.group_max_size,
        group_consumer_session_timeout_ms=config.group_consumer_session_timeout_ms,
        group_consumer_heartbeat_interval_ms=config.group_consumer_heartbeat_interval_ms,
        group_consumer_assignment_interval_ms=config.group_consumer_assignment_interval_ms,
        group_consumer_max_size=config.group_consumer_max_size,
        group_consumer_assignors=config.group_consumer_assignors or ("uniform",),
        group_consumer_migration_policy=config.group_consumer_migration_policy,
        group_consumer_regex_refresh_interval_ms=config.group_consumer_regex_refresh_interval_ms,
    )
