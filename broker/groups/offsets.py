"""The offsets that groups have committed: what a replay of their records gives, nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from broker.coordination.step import CoordinatorRecord
from broker.groups import records
from broker.protocol import messages as m

NO_EXPIRY = -1
NO_TOPIC_ID = bytes(16)


class CommittedOffset(NamedTuple):
    offset: int
    leader_epoch: int
    """Of the last record that was read; -1 if the client did not say."""
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int = NO_EXPIRY
    """Set by clients before OffsetCommit 5 that asked for a retention of their own."""
    topic_id: bytes = NO_TOPIC_ID
    """Of the topic that the offset belongs to: another one may have its name by now."""

    def expires_at_ms(self, retained_from_ms: int, retention_ms: int) -> int:
        """When the offset expires, if its retention begins at `retained_from_ms`."""
        if self.expire_timestamp_ms != NO_EXPIRY:
            return self.expire_timestamp_ms
        return retained_from_ms + retention_ms

    def is_of(self, topic_id: bytes) -> bool:
        """False for an offset of an earlier topic of the same name. Unknown ids match."""
        return topic_id in (self.topic_id, NO_TOPIC_ID) or self.topic_id == NO_TOPIC_ID


Partitions = Mapping[int, CommittedOffset]


class CommittedOffsets:
    """By group, topic and partition. Only `replay` changes it."""

    def __init__(self) -> None:
        self._by_group: dict[str, dict[str, dict[int, CommittedOffset]]] = {}

    def __contains__(self, group_id: str) -> bool:
        """Whether the group has committed anything."""
        return group_id in self._by_group

    def __len__(self) -> int:
        """How many offsets there are."""
        return sum(len(each) for topics in self._by_group.values() for each in topics.values())

    def groups(self) -> list[str]:
        """The groups that have committed something, in the order of their first commit."""
        return list(self._by_group)

    def of_topic(self, topic: str) -> Iterator[tuple[str, Partitions]]:
        """Each group that has offsets of the topic, with these."""
        for group_id, topics in self._by_group.items():
            if topic in topics:
                yield group_id, topics[topic]

    def topics(self) -> list[str]:
        """The topics that some group has offsets of, each once."""
        return list(dict.fromkeys(each for topics in self._by_group.values() for each in topics))

    def of_group(self, group_id: str) -> Mapping[str, Partitions]:
        """By topic, in the order of the first commit."""
        return self._by_group.get(group_id, {})

    def find(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        return self._by_group.get(group_id, {}).get(topic, {}).get(partition)

    def replay(self, key: m.OffsetCommitKey, value: m.OffsetCommitValue | None) -> None:
        """A tombstone of something unknown is none: compaction may have taken what it deletes."""
        if value is None:
            self._remove(key.group, key.topic, key.partition)
            return
        self.put(key.group, key.topic, key.partition, committed_of(value))

    def put(self, group_id: str, topic: str, partition: int, committed: CommittedOffset) -> None:
        """For the replay of a marker; records go through `replay`."""
        topics = self._by_group.setdefault(group_id, {})
        topics.setdefault(topic, {})[partition] = committed

    def _remove(self, group_id: str, topic: str, partition: int) -> None:
        topics = self._by_group.get(group_id)
        partitions = None if topics is None else topics.get(topic)
        if topics is None or partitions is None:
            return
        partitions.pop(partition, None)
        if not partitions:
            del topics[topic]
        if not topics:
            del self._by_group[group_id]


def committed_of(value: m.OffsetCommitValue) -> CommittedOffset:
    return CommittedOffset(
        value.offset,
        value.leader_epoch,
        value.metadata,
        value.commit_timestamp,
        value.expire_timestamp,
        value.topic_id,
    )


def commit_record(
    group_id: str, topic: str, partition: int, committed: CommittedOffset
) -> CoordinatorRecord:
    return records.record(
        m.OffsetCommitKey(group=group_id, topic=topic, partition=partition),
        m.OffsetCommitValue(
            offset=committed.offset,
            leader_epoch=committed.leader_epoch,
            metadata=committed.metadata,
            commit_timestamp=committed.commit_timestamp_ms,
            expire_timestamp=committed.expire_timestamp_ms,
            topic_id=committed.topic_id,
        ),
    )


def delete_records(group_id: str, offsets: Mapping[str, Partitions]) -> list[CoordinatorRecord]:
    """Tombstones of all these offsets, by topic and partition."""
    return [
        delete_record(group_id, topic, partition)
        for topic, partitions in offsets.items()
        for partition in partitions
    ]


def delete_record(group_id: str, topic: str, partition: int) -> CoordinatorRecord:
    return records.tombstone(m.OffsetCommitKey(group=group_id, topic=topic, partition=partition))
