"""One node's state as plain values, for whoever checks what must be true of a cluster.

Nothing handed out refers to live state: it stays as it was when it was looked at. Looking changes
nothing, waits for nothing and reads no file. What a look costs depends neither on how long logs
are nor on how many partitions there are, but for `inspect_node` and `metadata_digest`, which look
at everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from broker.inspect_batches import SeenBatch as SeenBatch
from broker.inspect_batches import SeenProducer as SeenProducer
from broker.inspect_batches import SeenSegment as SeenSegment
from broker.inspect_batches import read_batches as read_batches
from broker.inspect_batches import seen_producer, seen_segments
from broker.inspect_groups import GROUPS_TOPIC as GROUPS_TOPIC
from broker.inspect_groups import CommitDecided as CommitDecided
from broker.inspect_groups import CommittedOffset as CommittedOffset
from broker.inspect_groups import CoordinatorRecord as CoordinatorRecord
from broker.inspect_groups import GroupReplay as GroupReplay
from broker.inspect_groups import OffsetKey as OffsetKey
from broker.inspect_groups import ProducerIdAndEpoch as ProducerIdAndEpoch
from broker.inspect_groups import SeenGroup as SeenGroup
from broker.inspect_groups import SeenGroups as SeenGroups
from broker.inspect_groups import SeenMember as SeenMember
from broker.inspect_groups import SeenShard as SeenShard
from broker.inspect_groups import TransactionEnd as TransactionEnd
from broker.inspect_groups import group_shard as group_shard
from broker.inspect_groups import has_topic as has_topic
from broker.log.epochs import EpochStart
from broker.log.log import Log
from broker.metadata.broker_info import BrokerInfo as BrokerInfo
from broker.metadata.changes import (
    BrokerChanged,
    BrokerRegistered,
    BrokerUnregistered,
    Change,
    ConfigChanged,
    PartitionsAdded,
    PartitionsChanged,
    ResourceType,
    TopicCreated,
    TopicDeleted,
)
from broker.metadata.image import TopicInfo
from broker.metadata.internal_topics import TRANSACTIONS_TOPIC as TRANSACTIONS_TOPIC
from broker.metadata.partition_info import NO_LEADER as NO_LEADER
from broker.metadata.partition_info import RECOVERING as RECOVERING
from broker.metadata.partition_info import PartitionInfo as PartitionInfo
from broker.node import Node as Node
from broker.partition import Partition
from broker.quorum.metadata_log import TOPIC
from broker.quorum.replay import Applied as Applied
from broker.quorum.wire_form import TOPIC_ID
from broker.raft.events import SnapshotId as SnapshotId
from broker.replication.leader import LeaderState
from broker.transactions.state import TransactionState as TransactionState

METADATA_TOPIC = TOPIC
METADATA_ID = TOPIC_ID

_LONG_MS = 3_600_000
"""Longer than any simulated run: with this expiration no producer is forgotten."""

# A log


@dataclass(frozen=True, slots=True)
class SeenLog:
    start: int
    end: int
    high_watermark: int
    last_stable: int
    recovery_point: int
    epochs: tuple[EpochStart, ...]
    is_changing: bool
    """Being cut or rolled: what is told of it does not fit together until that is done."""
    is_offline: bool
    is_compacted: bool


# A partition


@dataclass(frozen=True, slots=True)
class SeenFollower:
    """As its leader knows it; -1 where it does not."""

    node_id: int
    log_start: int
    log_end: int
    broker_epoch: int


@dataclass(frozen=True, slots=True)
class SeenLeadership:
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    maximal_isr: tuple[int, ...]
    min_isr: int
    """As this leader is configured; a topic with fewer replicas needs them all."""
    is_proposing: bool
    """Whether an ISR that it has asked for is not decided yet."""
    high_watermark: int
    end: int
    epoch_start: int
    followers: tuple[SeenFollower, ...]


@dataclass(frozen=True, slots=True)
class SeenPartition:
    topic: str
    index: int
    topic_id: bytes
    leader_epoch: int
    info: PartitionInfo | None
    log: SeenLog
    leadership: SeenLeadership | None

    @property
    def role(self) -> str:
        if self.leadership is not None:
            return "leader"
        return "none" if self.info is None else "follower"


# The quorum, the metadata, the node


@dataclass(frozen=True, slots=True)
class SeenQuorum:
    node_id: int
    role: str
    epoch: int
    leader_id: int | None
    voted_for: int | None
    voters: tuple[int, ...]
    high_watermark: int
    log: SeenLog
    flushed: int
    last_epoch: int
    snapshot: SnapshotId | None
    snapshot_path: str | None
    log_dir: str


@dataclass(frozen=True, slots=True)
class SeenMetadata:
    applied_offset: int
    applied_epoch: int
    brokers: tuple[BrokerInfo, ...]
    topics: tuple[TopicInfo, ...]


@dataclass(frozen=True, slots=True)
class SeenNode:
    """A node that has just begun has no quorum yet, and no metadata."""

    node_id: int
    broker_epoch: int | None
    quorum: SeenQuorum | None
    metadata: SeenMetadata | None
    partitions: tuple[SeenPartition, ...]


@dataclass(frozen=True, slots=True)
class Touched:
    """What some changes of the metadata were about."""

    everything: bool
    partitions: tuple[tuple[str, int], ...]
    topics: tuple[str, ...]  # created, deleted or configured as a whole
    brokers: tuple[int, ...]


def inspect_node(node: Node) -> SeenNode:
    return SeenNode(
        node.node_id,
        broker_epoch(node),
        inspect_quorum(node),
        inspect_metadata(node),
        tuple(_partition(each) for each in node.partitions),
    )


def inspect_quorum(node: Node) -> SeenQuorum | None:
    quorum = getattr(node, "quorum", None)
    if quorum is None:
        return None
    raft, log = quorum.raft, quorum.log
    snapshot: SnapshotId | None = log.snapshot_id
    return SeenQuorum(
        node_id=node.node_id,
        role=raft.role.value,
        epoch=raft.epoch,
        leader_id=raft.leader_id,
        voted_for=raft.voted_for,
        voters=raft.voters,
        high_watermark=raft.high_watermark,
        log=_log(log.log),
        flushed=log.flushed_offset,
        last_epoch=log.last_epoch,
        snapshot=snapshot,
        snapshot_path=None if snapshot is None else log.snapshots.path(snapshot),
        log_dir=node.config.metadata_log_dir,
    )


def quorum_standing(node: Node) -> tuple[str, int, int | None] | None:
    """Role, epoch and vote: a part of `inspect_quorum` that costs next to nothing."""
    quorum = getattr(node, "quorum", None)
    if quorum is None:
        return None
    raft = quorum.raft
    return raft.role.value, raft.epoch, raft.voted_for


def inspect_metadata(node: Node) -> SeenMetadata | None:
    replay = getattr(node, "metadata", None)
    if replay is None:
        return None
    image = replay.image
    return SeenMetadata(
        replay.applied_offset,
        replay.applied_epoch,
        tuple(image.brokers_sorted()),
        tuple(image.topics_sorted()),
    )


def inspect_partition(node: Node, topic: str, index: int) -> SeenPartition | None:
    """None when the node holds no such partition."""
    partition = node.partitions.find(topic, index)
    return None if partition is None else _partition(partition)


def producers(
    node: Node, topic: str, index: int, ids: Iterable[int] | None = None
) -> dict[int, SeenProducer] | None:
    """What the partition remembers of these producers, or of all; None if it may forget some."""
    partition = node.partitions.find(topic, index)
    if partition is None or partition.log.config.producer_id_expiration_ms < _LONG_MS:
        return None
    known = partition.log.producers.producers
    wanted = known if ids is None else [each for each in ids if each in known]
    return {each: seen_producer(known[each]) for each in wanted}


def broker_epoch(node: Node) -> int | None:
    """Under which this life is registered; None when it is not, or not yet."""
    return node.role.broker_epoch


def applied_offset(node: Node) -> int:
    replay = getattr(node, "metadata", None)
    return -1 if replay is None else int(replay.applied_offset)


def metadata_digest(node: Node) -> str:
    """Costs as much as there are topics and partitions."""
    return node.metadata.image.digest()


def partition_info(node: Node, topic: str, index: int) -> tuple[bytes, PartitionInfo] | None:
    """With the topic's id, as the node's image has it."""
    found = node.metadata.image.topic(topic)
    if found is None or not 0 <= index < len(found.partitions):
        return None
    return found.topic_id, found.partitions[index]


def partition_count(node: Node, topic: str) -> int:
    found = node.metadata.image.topic(topic)
    return 0 if found is None else len(found.partitions)


def topic_names(node: Node) -> tuple[str, ...]:
    return tuple(sorted(node.metadata.image.topics))


def broker_info(node: Node, broker_id: int) -> BrokerInfo | None:
    return node.metadata.image.brokers.get(broker_id)


def broker_ids(node: Node) -> tuple[int, ...]:
    return tuple(sorted(node.metadata.image.brokers))


def min_insync_replicas(node: Node, topic: str, replica_count: int) -> int:
    """As the controller counts: a topic with fewer replicas needs them all."""
    return node.topic_rules(topic).min_isr_of(replica_count)


def touched_by(changes: Sequence[Change] | None) -> Touched:
    """None stands for an image that came whole, with a snapshot."""
    if changes is None:
        return Touched(True, (), (), ())
    partitions: dict[tuple[str, int], None] = {}
    topics: dict[str, None] = {}
    brokers: dict[int, None] = {}
    everything = False
    for change in changes:
        match change:
            case PartitionsChanged(name=name, partitions=changed):
                partitions.update(((name, index), None) for index, _ in changed)
            case PartitionsAdded(name=name) | TopicCreated(name=name) | TopicDeleted(name=name):
                topics[name] = None
            case ConfigChanged(resource_type=ResourceType.TOPIC, resource_name=name):
                topics[name] = None
            case ConfigChanged():
                everything = True
            case BrokerRegistered() | BrokerChanged() | BrokerUnregistered():
                brokers[change.broker_id] = None
            case _:
                pass
    return Touched(everything, tuple(partitions), tuple(topics), tuple(brokers))


# The batches of a log


def segments(node: Node, topic: str, index: int) -> tuple[SeenSegment, ...]:
    """Oldest first; none when the node holds no such log."""
    if topic == METADATA_TOPIC:
        quorum = getattr(node, "quorum", None)
        if quorum is None:
            return ()
        return seen_segments(quorum.log.log.segments, node.config.metadata_log_dir)
    partition = node.partitions.find(topic, index)
    return () if partition is None else seen_segments(partition.log.segments, partition.log_dir)


# How the values are made


def _partition(partition: Partition) -> SeenPartition:
    leader = partition.leader
    return SeenPartition(
        partition.topic,
        partition.index,
        partition.topic_id,
        partition.leader_epoch,
        partition.info,
        _log(partition.log),
        None if leader is None else _leadership(leader),
    )


def _leadership(leader: LeaderState) -> SeenLeadership:
    return SeenLeadership(
        leader.leader_epoch,
        leader.partition_epoch,
        leader.isr,
        leader.info.elr,
        leader.maximal_isr,
        min(leader.min_insync_replicas, len(leader.info.replicas)),
        leader.in_flight is not None,
        leader.high_watermark,
        leader.end_offset,
        leader.epoch_start_offset,
        tuple(
            SeenFollower(each.node_id, each.log_start, each.log_end, each.broker_epoch)
            for each in leader.followers.values()
        ),
    )


def _log(log: Log) -> SeenLog:
    return SeenLog(
        log.start_offset,
        log.end_offset,
        log.high_watermark,
        log.last_stable_offset,
        log.recovery_point,
        log.epochs.entries,
        log.is_changing,
        log.failure is not None,
        log.config.cleanup_compact,
    )
