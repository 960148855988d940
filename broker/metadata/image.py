"""The cluster's metadata in memory: what there is, after all changes so far. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace

from broker.metadata.changes import (
    Change,
    ConfigChanged,
    DeletionsRemembered,
    LeaderEpochsRaised,
    PartitionsAdded,
    ProducerIdsAllocated,
    ResourceType,
    TopicCreated,
    TopicDeleted,
)

DELETED_TOPICS_MAX = 1000
"""A crash leaves behind only what was being deleted then, so that the last ones are enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionInfo:
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicInfo:
    name: str
    topic_id: bytes
    partitions: tuple[PartitionInfo, ...]


class ConflictError(Exception):
    """The change was made for an image that is no longer this one: look again, and decide anew."""


@dataclass(slots=True)
class Image:
    """Changed only by `apply` and `become`. What it hands out is never changed afterwards."""

    topics: dict[str, TopicInfo] = field(default_factory=dict)
    names_by_id: dict[bytes, str] = field(default_factory=dict)
    deleted_topics: dict[bytes, None] = field(default_factory=dict)  # the last ones, by id
    configs: dict[tuple[int, str], dict[str, str]] = field(default_factory=dict)
    next_producer_id: int = 0
    version: int = 0  # how many changes were applied

    def copy(self) -> Image:
        # The values inside are never changed in place, so the outer dicts are enough.
        return Image(
            topics=dict(self.topics),
            names_by_id=dict(self.names_by_id),
            deleted_topics=dict(self.deleted_topics),
            configs=dict(self.configs),
            next_producer_id=self.next_producer_id,
            version=self.version,
        )

    def become(self, other: Image) -> None:
        """All at once. `other` is not to be used any more."""
        for each in fields(self):
            setattr(self, each.name, getattr(other, each.name))

    def topic(self, name: str) -> TopicInfo | None:
        return self.topics.get(name)

    def topic_by_id(self, topic_id: bytes) -> TopicInfo | None:
        name = self.names_by_id.get(topic_id)
        return None if name is None else self.topics[name]

    def topics_sorted(self) -> Iterator[TopicInfo]:
        # A list: topics may come and go while the caller waits for something.
        return iter([self.topics[name] for name in sorted(self.topics)])

    def topic_configs(self, name: str) -> Mapping[str, str]:
        return self.configs.get((ResourceType.TOPIC, name), {})

    def broker_configs(self, node_id: int) -> dict[str, str]:
        """What was changed while running, for this node: its own wins over the cluster's."""
        return {**self.default_broker_configs(), **self.own_broker_configs(node_id)}

    def own_broker_configs(self, node_id: int) -> Mapping[str, str]:
        return self.configs.get((ResourceType.BROKER, str(node_id)), {})

    def default_broker_configs(self) -> Mapping[str, str]:
        return self.configs.get((ResourceType.BROKER, ""), {})

    def apply(self, change: Change) -> None:
        """Raises ConflictError, and then nothing has changed."""
        match change:
            case TopicCreated():
                self._create_topic(change)
            case TopicDeleted():
                self._current(change)
                del self.topics[change.name]
                del self.names_by_id[change.topic_id]
                self.configs.pop((ResourceType.TOPIC, change.name), None)
                self._remember_deletions([change.topic_id])
            case DeletionsRemembered():
                self._remember_deletions(change.topic_ids)
            case PartitionsAdded():
                topic = self._current(change)
                if len(topic.partitions) != change.first:
                    raise ConflictError(f"topic {change.name} has more partitions by now")
                added = tuple(_new_partition(nodes) for nodes in change.replicas)
                self.topics[change.name] = replace(topic, partitions=topic.partitions + added)
            case ConfigChanged():
                self._change_config(change)
            case ProducerIdsAllocated():
                if change.next_producer_id < self.next_producer_id:
                    raise ConflictError("these producer ids are handed out by now")
                self.next_producer_id = change.next_producer_id
            case LeaderEpochsRaised():
                self._raise_leader_epochs(change)
        self.version += 1

    def _current(self, change: TopicDeleted | PartitionsAdded | LeaderEpochsRaised) -> TopicInfo:
        topic = self.topics.get(change.name)
        if topic is None or topic.topic_id != change.topic_id:
            raise ConflictError(f"topic {change.name} is no longer the one that was looked at")
        return topic

    def _remember_deletions(self, topic_ids: Iterable[bytes]) -> None:
        self.deleted_topics.update(dict.fromkeys(topic_ids))
        while len(self.deleted_topics) > DELETED_TOPICS_MAX:
            del self.deleted_topics[next(iter(self.deleted_topics))]

    def _create_topic(self, change: TopicCreated) -> None:
        if change.name in self.topics or change.topic_id in self.names_by_id:
            raise ConflictError(f"topic {change.name} exists by now, or its id does")
        self.topics[change.name] = TopicInfo(
            name=change.name,
            topic_id=change.topic_id,
            partitions=tuple(_new_partition(nodes) for nodes in change.replicas),
        )
        self.names_by_id[change.topic_id] = change.name
        if change.configs:
            self.configs[(ResourceType.TOPIC, change.name)] = dict(change.configs)

    def _change_config(self, change: ConfigChanged) -> None:
        key = (change.resource_type, change.resource_name)
        if change.resource_type == ResourceType.TOPIC and change.resource_name not in self.topics:
            raise ConflictError(f"topic {change.resource_name} is gone by now")
        configs = dict(self.configs.get(key, {}))
        if change.value is None:
            configs.pop(change.name, None)
        else:
            configs[change.name] = change.value
        if configs:
            self.configs[key] = configs
        else:
            self.configs.pop(key, None)

    def _raise_leader_epochs(self, change: LeaderEpochsRaised) -> None:
        topic = self._current(change)
        if len(topic.partitions) != len(change.leader_epochs):
            raise ConflictError(f"topic {change.name} has more partitions by now")
        partitions = tuple(
            replace(old, leader_epoch=epoch, partition_epoch=old.partition_epoch + 1)
            for old, epoch in zip(topic.partitions, change.leader_epochs, strict=True)
        )
        self.topics[change.name] = replace(topic, partitions=partitions)

    def as_changes(self) -> Iterator[Change]:
        """Applied to an empty image, these give this one again."""
        yield ProducerIdsAllocated(self.next_producer_id)
        yield DeletionsRemembered(tuple(self.deleted_topics))
        for topic in self.topics_sorted():
            replicas = tuple(partition.replicas for partition in topic.partitions)
            yield TopicCreated(topic.name, topic.topic_id, replicas, {})
            epochs = tuple(partition.leader_epoch for partition in topic.partitions)
            yield LeaderEpochsRaised(topic.name, topic.topic_id, epochs)
        for (resource_type, resource_name), configs in sorted(self.configs.items()):
            for name, value in sorted(configs.items()):
                yield ConfigChanged(resource_type, resource_name, name, value)


def _new_partition(replicas: tuple[int, ...]) -> PartitionInfo:
    return PartitionInfo(replicas=replicas, isr=replicas, leader=replicas[0])
