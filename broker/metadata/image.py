"""The cluster's metadata in memory: what there is, after all changes so far. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace

from broker.metadata.broker_info import BrokerInfo
from broker.metadata.changes import (
    BrokerChanged,
    BrokerDirectoriesChanged,
    BrokerEpochsUsed,
    BrokerRegistered,
    BrokerUnregistered,
    Change,
    ConfigChanged,
    DeletionsRemembered,
    PartitionsAdded,
    PartitionsChanged,
    ProducerIdsAllocated,
    ResourceType,
    TopicCreated,
    TopicDeleted,
    to_json,
)
from broker.metadata.partition_info import PartitionInfo as PartitionInfo
from broker.metadata.partition_info import PartitionInfos

DELETED_TOPICS_MAX = 1000
"""A crash leaves behind only what was being deleted then, so that the last ones are enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicInfo:
    name: str
    topic_id: bytes
    partitions: PartitionInfos


class ConflictError(Exception):
    """The change was made for an image that is no longer this one: look again, and decide anew."""


@dataclass(slots=True)
class Image:
    """Changed only by `apply` and `become`. What it hands out is never changed afterwards."""

    topics: dict[str, TopicInfo] = field(default_factory=dict)
    names_by_id: dict[bytes, str] = field(default_factory=dict)
    deleted_topics: dict[bytes, None] = field(default_factory=dict)  # the last ones, by id
    configs: dict[tuple[int, str], dict[str, str]] = field(default_factory=dict)
    brokers: dict[int, BrokerInfo] = field(default_factory=dict)
    next_broker_epoch: int = 0
    next_producer_id: int = 0
    # How many changes were applied. Two images may come to be equal by different ways.
    version: int = field(default=0, compare=False)

    def copy(self) -> Image:
        # The values inside are never changed in place, so the outer dicts are enough.
        return Image(
            topics=dict(self.topics),
            names_by_id=dict(self.names_by_id),
            deleted_topics=dict(self.deleted_topics),
            configs=dict(self.configs),
            brokers=dict(self.brokers),
            next_broker_epoch=self.next_broker_epoch,
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

    def brokers_sorted(self) -> Iterator[BrokerInfo]:
        return iter([self.brokers[broker_id] for broker_id in sorted(self.brokers)])

    def is_active(self, broker_id: int, directory: bytes | None = None) -> bool:
        """Whether it is registered, neither fenced nor about to stop, and has the directory."""
        broker = self.brokers.get(broker_id)
        return broker is not None and broker.is_active and broker.has_online(directory)

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
        """Raises ConflictError, and then nothing has changed.

        A changed partition costs the same in a small topic and in one of ten thousand.
        """
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
                more = topic.partitions.with_added(change.partitions)
                self.topics[change.name] = replace(topic, partitions=more)
            case PartitionsChanged():
                self._change_partitions(change)
            case BrokerRegistered():
                self._register_broker(change)
            case BrokerChanged():
                self._change_broker(change)
            case BrokerDirectoriesChanged():
                self.brokers[change.broker_id] = replace(
                    self._current_broker(change), offline_dirs=change.offline_dirs
                )
            case BrokerUnregistered():
                self._current_broker(change)
                del self.brokers[change.broker_id]
            case BrokerEpochsUsed():
                self.next_broker_epoch = max(self.next_broker_epoch, change.next_broker_epoch)
            case ConfigChanged():
                self._change_config(change)
            case ProducerIdsAllocated():
                if change.next_producer_id <= self.next_producer_id:
                    raise ConflictError("these producer ids are handed out by now")
                self.next_producer_id = change.next_producer_id
        self.version += 1

    def _current(self, change: TopicDeleted | PartitionsAdded | PartitionsChanged) -> TopicInfo:
        topic = self.topics.get(change.name)
        if topic is None or topic.topic_id != change.topic_id:
            raise ConflictError(f"topic {change.name} is no longer the one that was looked at")
        return topic

    def _change_partitions(self, change: PartitionsChanged) -> None:
        topic = self._current(change)
        seen = dict.fromkeys(index for index, _ in change.partitions)
        if len(seen) != len(change.partitions):
            raise ConflictError(f"a partition of topic {change.name} is changed twice at once")
        for index, info in change.partitions:
            if not 0 <= index < len(topic.partitions):
                raise ConflictError(f"there is no {change.name}-{index}")
            old = topic.partitions[index]
            # Each change counts one up: what was made for an older state does not fit any more.
            if info.partition_epoch <= old.partition_epoch or info.leader_epoch < old.leader_epoch:
                raise ConflictError(f"{change.name}-{index} has changed by now")
        changed = topic.partitions.with_changed(change.partitions)
        self.topics[change.name] = replace(topic, partitions=changed)

    def _current_broker(
        self, change: BrokerChanged | BrokerDirectoriesChanged | BrokerUnregistered
    ) -> BrokerInfo:
        broker = self.brokers.get(change.broker_id)
        if broker is None or broker.broker_epoch != change.broker_epoch:
            raise ConflictError(f"broker {change.broker_id} is no longer the one looked at")
        return broker

    def _change_broker(self, change: BrokerChanged) -> None:
        broker = self._current_broker(change)
        self.brokers[change.broker_id] = replace(
            broker,
            fenced=change.fenced,
            in_controlled_shutdown=change.in_controlled_shutdown,
            # A life that is let in is counted on from here on: an earlier one is not enough.
            unharmed_since=broker.unharmed_since if change.fenced else broker.broker_epoch,
        )

    def _register_broker(self, change: BrokerRegistered) -> None:
        known = self.brokers.get(change.broker_id)
        if known is not None and known.incarnation_id == change.incarnation_id:
            fits = known.broker_epoch == change.broker_epoch
        else:
            fits = change.broker_epoch >= self.next_broker_epoch
        if not fits:
            raise ConflictError(f"broker epoch {change.broker_epoch} is used by now")
        self.brokers[change.broker_id] = BrokerInfo(
            **{each.name: getattr(change, each.name) for each in fields(change)}
        )
        self.next_broker_epoch = max(self.next_broker_epoch, change.broker_epoch + 1)

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
            partitions=PartitionInfos(change.partitions),
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

    def as_changes(self) -> Iterator[Change]:
        """Applied to an empty image, these give this one again."""
        if self.next_producer_id:
            yield ProducerIdsAllocated(self.next_producer_id)
        if self.deleted_topics:
            yield DeletionsRemembered(tuple(self.deleted_topics))
        for broker in sorted(self.brokers.values(), key=lambda each: each.broker_epoch):
            yield BrokerRegistered(
                **{each.name: getattr(broker, each.name) for each in fields(broker)}
            )
        if self.next_broker_epoch:
            yield BrokerEpochsUsed(self.next_broker_epoch)
        for topic in self.topics_sorted():
            configs = dict(sorted(self.topic_configs(topic.name).items()))
            yield TopicCreated(topic.name, topic.topic_id, tuple(topic.partitions), configs)
        for (resource_type, resource_name), configs in sorted(self.configs.items()):
            if resource_type != ResourceType.TOPIC:
                for name, value in sorted(configs.items()):
                    yield ConfigChanged(resource_type, resource_name, name, value)

    def digest(self) -> str:
        """The same for equal images, on every node and in every version of Python."""
        state = hashlib.sha256()
        for change in self.as_changes():
            state.update(json.dumps(to_json(change), sort_keys=True).encode())
        return state.hexdigest()
