"""What the controllers have decided so far: the metadata as far as any node has applied it.

What one node has applied is committed, and so holds for the cluster, whoever has not heard of it
yet. Nodes that are behind add nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from broker.inspect import (
    RECOVERING,
    BrokerInfo,
    Node,
    PartitionInfo,
    Touched,
    applied_offset,
    broker_ids,
    broker_info,
    min_insync_replicas,
    partition_count,
    partition_info,
    topic_names,
)
from harness.sim.invariants.base import Key


class Decided:
    def __init__(self) -> None:
        self.offset = -1
        self.brokers: dict[int, BrokerInfo] = {}
        self.infos: dict[Key, PartitionInfo] = {}
        self.min_isr: dict[Key, int] = {}
        self.in_sync: dict[int, dict[Key, None]] = {}
        """By broker: where it is in the ISR."""
        self._ids: dict[str, bytes] = {}
        self._names: dict[bytes, str] = {}
        self._counts: dict[bytes, int] = {}

    def name(self, key: Key) -> str:
        return f"{self._names.get(key[0], key[0].hex())}-{key[1]}"

    def topic(self, key: Key) -> str | None:
        return self._names.get(key[0])

    def was_unclean(self, key: Key) -> bool:
        """Whether the leader was elected though it may lack records."""
        info = self.infos.get(key)
        return info is not None and info.leader_recovery_state == RECOVERING

    def follow(self, node: Node, touched: Iterable[Touched]) -> tuple[list[Key], list[int]] | None:
        """Which partitions and brokers have changed; None when the node is behind.

        `touched` is of all batches that the node has applied since it was last followed.
        """
        offset = applied_offset(node)
        if offset <= self.offset:
            return None
        self.offset = offset
        keys: dict[Key, None] = {}
        brokers: dict[int, None] = {}
        for each in touched:
            if each.everything:
                brokers.update(dict.fromkeys((*self.brokers, *broker_ids(node))))
            for name in self._topics(node, each):
                keys.update(dict.fromkeys(self._follow_topic(node, name)))
            for name, index in each.partitions:
                if (key := self._follow_partition(node, name, index)) is not None:
                    keys[key] = None
            brokers.update(dict.fromkeys(each.brokers))
        for broker_id in brokers:
            self._follow_broker(node, broker_id)
        return list(keys), list(brokers)

    def _topics(self, node: Node, touched: Touched) -> Iterable[str]:
        if touched.everything:
            return dict.fromkeys((*self._ids, *topic_names(node)))
        return touched.topics

    def _follow_topic(self, node: Node, name: str) -> list[Key]:
        keys = []
        for index in range(partition_count(node, name)):
            key = self._follow_partition(node, name, index)
            if key is not None:
                keys.append(key)
        if not keys and name in self._ids:
            self._forget_topic(name)
        return keys

    def _follow_partition(self, node: Node, name: str, index: int) -> Key | None:
        found = partition_info(node, name, index)
        if found is None:
            return None
        topic_id, info = found
        if self._ids.get(name, topic_id) != topic_id:
            self._forget_topic(name)
        key = (topic_id, index)
        self._ids[name] = topic_id
        self._names[topic_id] = name
        self._counts[topic_id] = max(self._counts.get(topic_id, 0), index + 1)
        self._note_members(key, info.isr)
        self.infos[key] = info
        self.min_isr[key] = min_insync_replicas(node, name, len(info.replicas))
        return key

    def _note_members(self, key: Key, isr: Iterable[int]) -> None:
        before = self.infos.get(key)
        for member in () if before is None else before.isr:
            self.in_sync[member].pop(key, None)
        for member in isr:
            self.in_sync.setdefault(member, {})[key] = None

    def _follow_broker(self, node: Node, broker_id: int) -> None:
        info = broker_info(node, broker_id)
        if info is None:
            self.brokers.pop(broker_id, None)
        else:
            self.brokers[broker_id] = info

    def _forget_topic(self, name: str) -> None:
        topic_id = self._ids.pop(name)
        for index in range(self._counts.pop(topic_id)):
            key = (topic_id, index)
            self._note_members(key, ())
            self.infos.pop(key, None)
            self.min_isr.pop(key, None)
