"""The cluster as the watcher sees it: its nodes, their replicas, and what was decided and shown."""

from __future__ import annotations

from functools import partial

from broker.inspect import (
    METADATA_TOPIC,
    Node,
    SeenLeadership,
    SeenPartition,
    SeenQuorum,
    SeenSegment,
    broker_epoch,
    inspect_partition,
    inspect_quorum,
    quorum_standing,
    segments,
)
from harness.sim.invariants.base import METADATA, Key
from harness.sim.invariants.decided import Decided
from harness.sim.invariants.ghost import Ghost
from harness.sim.invariants.replica import Replica
from harness.sim.invariants.transaction_log import TransactionLog
from harness.sim.nodes import SimCluster

_NO_TOPIC_ID = bytes(16)


class Scene:
    def __init__(self, cluster: SimCluster) -> None:
        self.decided = Decided()
        self.ghost = Ghost()
        self._cluster = cluster
        self._replicas: dict[tuple[str, Key], Replica] = {}
        self._names = {node.node_id: node.name for node in cluster.nodes.values()}
        self._compacted: set[Key] = set()
        self.transactions = TransactionLog()

    # Nodes

    def process(self, node: str) -> Node | None:
        return self._cluster[node].process

    def name_of(self, node_id: int) -> str | None:
        return self._names.get(node_id)

    def life(self, node: str) -> int:
        life = self._cluster[node].life
        return 0 if life is None else life.number

    def is_unharmed(self, node_id: int) -> bool:
        """Whether nothing that it wrote can be lost: no power failed, no disk was struck so far."""
        name = self._names.get(node_id)
        return name is not None and self._cluster[name].is_unharmed

    def is_clean(self, node_id: int) -> bool:
        """Whether it runs, and in the very life that the controllers count on."""
        known = self.decided.brokers.get(node_id)
        return known is not None and self.lives(node_id, known.broker_epoch)

    def lives(self, node_id: int, epoch: int) -> bool:
        """Whether it runs in the life that has this broker epoch."""
        name = self._names.get(node_id)
        process = None if name is None else self._cluster[name].process
        return process is not None and broker_epoch(process) == epoch

    def standing(self, node: str) -> tuple[str, int, int | None] | None:
        """Its role, its epoch and its vote in the quorum; None when it does not run."""
        process = self._cluster[node].process
        return None if process is None else quorum_standing(process)

    def quorum_epoch(self, node: str) -> int | None:
        process = self._cluster[node].process
        seen = None if process is None else inspect_quorum(process)
        return None if seen is None else seen.epoch

    # Replicas

    def look(self, node: str, topic: str, index: int) -> Replica | bool:
        """The replica as it is now. True: it cannot be looked at yet; False: there is none."""
        process = self._cluster[node].process
        if process is None:
            return False
        seen: SeenPartition | SeenQuorum | None
        if topic == METADATA_TOPIC:
            seen, key = inspect_quorum(process), METADATA
        else:
            seen = inspect_partition(process, topic, index)
            key = (_NO_TOPIC_ID if seen is None else seen.topic_id, index)
        if seen is None or key[0] == _NO_TOPIC_ID:
            self._forget(node, topic, index)
            return False
        if seen.log.is_offline:
            self._replicas.pop((node, key), None)
            return False
        if seen.log.is_changing:
            return True
        life = self.life(node)
        replica = self._replicas.get((node, key))
        if replica is None or replica.life != life:
            replica = self._replicas[node, key] = Replica(node, life, key, topic)
        is_unlike = (
            self._is_compacted(key, seen) or replica.name in self._cluster[node].damaged_logs
        )
        replica.look(seen, segments(process, topic, index), partial(self.peek, node), is_unlike)
        return replica

    def _is_compacted(self, key: Key, seen: SeenPartition | SeenQuorum) -> bool:
        """What was compacted once stays so: a node that has just started does not know it yet."""
        if seen.log.is_compacted:
            self._compacted.add(key)
        return key in self._compacted

    def _forget(self, node: str, topic: str, index: int) -> None:
        """The log is gone from the node. If the partition comes back, its log is another one."""
        for place, replica in list(self._replicas.items()):
            if place[0] == node and replica.topic == topic and place[1][1] == index:
                del self._replicas[place]

    def peek(self, node: str, segment: SeenSegment, position: int, length: int) -> bytes:
        """What is written there, also on the disk of a node that is down."""
        found = self._cluster[node].disks[segment.log_dir].peek(segment.path, position, length)
        return b"" if found is None else found

    def running(self, node_id: int, key: Key) -> Replica | None:
        """As it was at the last look; looked at now if it has not been in this life."""
        name = self._names.get(node_id)
        if name is None or self._cluster[name].process is None:
            return None
        replica = self._replicas.get((name, key))
        if replica is not None and replica.life == self.life(name):
            return replica
        topic = METADATA_TOPIC if key == METADATA else self.decided.topic(key)
        found = False if topic is None else self.look(name, topic, key[1])
        return found if isinstance(found, Replica) and found.key == key else None

    def last_known(self, node_id: int, key: Key) -> Replica | None:
        """Perhaps of a node that is down: then as it was when it was last looked at."""
        found = self.running(node_id, key)
        return found or self._replicas.get((self._names.get(node_id, ""), key))

    def leadership(self, node_id: int, key: Key) -> SeenLeadership | None:
        """As of now: it changes with every fetch, which nobody tells of."""
        name, topic = self._names.get(node_id), self.decided.topic(key)
        process = None if name is None else self._cluster[name].process
        if process is None or topic is None:
            return None
        seen = inspect_partition(process, topic, key[1])
        return None if seen is None or seen.topic_id != key[0] else seen.leadership

    def leadership_on(self, node: str, topic: str, index: int) -> SeenLeadership | None:
        """Likewise, whoever the controllers want to lead."""
        process = self._cluster[node].process
        seen = None if process is None else inspect_partition(process, topic, index)
        return None if seen is None else seen.leadership

    def leader(self, key: Key) -> Replica | None:
        """Of the node that the controllers want to lead, once it does."""
        info = self.decided.infos.get(key)
        replica = None if info is None else self.running(info.leader, key)
        if info is None or replica is None:
            return None
        return replica if replica.leads(info.leader_epoch) else None

    def all_replicas(self) -> list[Replica]:
        return [self._replicas[place] for place in sorted(self._replicas)]

    def places_of(self, topic: str) -> list[tuple[str, int]]:
        """Nodes and partitions of a topic, as the controllers have decided."""
        return [
            (self._names[node_id], key[1])
            for key, info in self.decided.infos.items()
            if self.decided.topic(key) == topic
            for node_id in info.replicas
            if node_id in self._names
        ]

    def is_damaged(self, replica: Replica) -> bool:
        """Whether a fault may have changed what it stores."""
        return replica.name in self._cluster[replica.node].damaged_logs

    def synced_bytes(self, node: str, segment: SeenSegment) -> int:
        """How much of the segment survives whatever happens to the node's power."""
        return self._cluster[node].disks[segment.log_dir].synced_bytes(segment.path)

    def has_file(self, node: str, log_dir: str, path: str) -> bool:
        return self._cluster[node].disks[log_dir].peek(path, 0, 0) is not None
