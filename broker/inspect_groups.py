"""What a node's group coordinator holds, as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from broker.coordination.shard import ShardState
from broker.coordination.step import CoordinatorRecord as CoordinatorRecord
from broker.coordination.step import ProducerIdAndEpoch as ProducerIdAndEpoch
from broker.coordination.step import TransactionEnd as TransactionEnd
from broker.group_events import CommitDecided as CommitDecided
from broker.groups.machine import GroupMachine
from broker.groups.offsets import CommittedOffset as CommittedOffset
from broker.groups.seen import SeenGroup as SeenGroup
from broker.groups.seen import SeenMember as SeenMember
from broker.metadata.internal_topics import GROUPS_TOPIC as GROUPS_TOPIC
from broker.node import Node

OffsetKey = tuple[str, str, int]
"""A group, a topic, a partition."""


@dataclass(frozen=True, slots=True)
class SeenGroups:
    """The state of one partition of `__consumer_offsets`."""

    offsets: Mapping[OffsetKey, CommittedOffset]
    groups: tuple[SeenGroup, ...]
    """Sorted by id. Groups of which only offsets are known are not among them."""
    pending: tuple[tuple[int, OffsetKey, CommittedOffset | None], ...] = ()
    """What open transactions have staged: producer id, partition, offset. Sorted. None for one
    that a later commit has replaced."""

    @property
    def digest(self) -> str:
        """Of everything that a replay gives."""
        text = sha256()
        for key in sorted(self.offsets):
            text.update(repr((key, tuple(self.offsets[key]))).encode())
        for group in self.groups:
            if group.lasting:  # or no record has been written of it yet
                text.update(repr((group.group_id, group.kind, group.lasting)).encode())
        text.update(repr(self.pending).encode())
        return text.hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class SeenShard:
    index: int
    leader_epoch: int
    is_settled: bool
    """It is loaded, and its memory is not ahead of its log: the two can be compared."""
    end_offset: int
    """Where the log ends that its memory is made of."""
    state: SeenGroups


def group_shard(node: Node, index: int) -> SeenShard | None:
    """None when the node does not coordinate the groups of this partition."""
    shard = node.groups.shards.find(index)
    if shard is None or shard.state is ShardState.CLOSED:
        return None
    is_settled = shard.state is ShardState.ACTIVE and not shard.is_writing
    state = _state(shard.machine) if is_settled else SeenGroups({}, ())
    return SeenShard(index, shard.leader_epoch, is_settled, shard.end_offset, state)


def has_topic(node: Node, topic_id: str) -> bool:
    """Whether a topic of this hexadecimal id exists, by the node's image."""
    return node.metadata.image.topic_by_id(bytes.fromhex(topic_id)) is not None


class GroupReplay:
    """A coordinator that has seen nothing but the records that it is given, one after the other."""

    def __init__(self, node: Node) -> None:
        self._machine = node.groups.make_machine()

    def take(self, entries: Iterable[CoordinatorRecord | TransactionEnd]) -> None:
        for each in entries:
            if isinstance(each, TransactionEnd):
                self._machine.end_transaction(each)
            else:
                self._machine.replay(each)

    @property
    def state(self) -> SeenGroups:
        return _state(self._machine)


def _state(machine: GroupMachine) -> SeenGroups:
    offsets = {
        (group_id, topic, partition): committed
        for group_id in machine.offsets.groups()
        for topic, partitions in machine.offsets.of_group(group_id).items()
        for partition, committed in partitions.items()
    }
    groups = sorted((each.seen() for each in machine.groups.values()), key=lambda g: g.group_id)
    pending = sorted(
        ((producer_id, key, staged.committed) for producer_id, key, staged in machine.pending),
        key=lambda each: each[:2],
    )
    return SeenGroups(offsets, tuple(groups), tuple(pending))
