"""How far groups are behind the logs that they read, for /metrics.

A lag is the difference of two figures that different nodes have. The coordinator of a group has its
committed offsets; the leader of a partition has the end of its log. The coordinator computes the
lag, because exactly one node coordinates a group, so that each lag is exported once, and because
a group whose members are all gone, whose lag matters most, still has a coordinator.

The log ends of other leaders are asked for when somebody reads /metrics, not before: commits,
produces and fetches pay nothing, and a node that nobody scrapes sends nothing. The offsets are
taken before the log ends, so a lag is never too small. A leader that does not answer in time
leaves its partitions without a lag: an old figure would look like a group that keeps up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from broker.broker_requests import BrokerRequests
from broker.coordination.shard import ShardState
from broker.log.breather import Breather
from broker.peers.channel import UnansweredError
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from broker.replication.read_limits import Reader, check_latest, read_limit

if TYPE_CHECKING:
    from broker.groups.offsets import Partitions
    from broker.node import Node

OFFSETS_MAX = 10_000
"""Of all groups of this node together: each is a time series for whoever reads the metrics."""

_FRESH_S = 1.0
"""Readers that come sooner get the same figures: leaders are asked at most once a second."""
_PATIENCE_S = 2.0
_PARTITIONS_AT_ONCE = 400
"""Larger requests are wide ones, of which a leader answers one at a time."""
_CONSUMER = -1
_LATEST = -1

_Partition = tuple[str, int]


class GroupOffset(NamedTuple):
    group_id: str
    topic: str
    partition: int
    committed: int


class GroupFigures(NamedTuple):
    offsets: list[GroupOffset]
    log_ends: Mapping[tuple[str, int], int]
    """High watermarks by topic and partition, as far as they are known."""
    left_out: int
    """Committed offsets beyond `OFFSETS_MAX`."""

    def lags(self) -> Iterable[tuple[GroupOffset, int]]:
        """In records, of each offset whose log end is known."""
        for each in self.offsets:
            end = self.log_ends.get((each.topic, each.partition))
            if end is not None:
                yield each, max(0, end - each.committed)


class GroupLag:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._requests = BrokerRequests(node, "group-lag")
        self._lock = asyncio.Lock()
        self._seen = GroupFigures([], {}, 0)
        self._fresh_until = 0.0

    async def look(self) -> GroupFigures:
        """Of the groups that this node coordinates. Takes 2 s at most."""
        async with self._lock:
            loop = asyncio.get_running_loop()
            if loop.time() >= self._fresh_until:
                offsets, left_out = await self._committed()
                wanted = dict.fromkeys((each.topic, each.partition) for each in offsets)
                self._seen = GroupFigures(offsets, await self._log_ends(wanted), left_out)
                self._fresh_until = loop.time() + _FRESH_S
            return self._seen

    def close(self) -> None:
        self._requests.close()

    # Committed offsets

    async def _committed(self) -> tuple[list[GroupOffset], int]:
        """And how many were left out."""
        found: list[GroupOffset] = []
        left_out = 0
        breather = Breather()
        for _, shard in self._node.groups.shards:
            if shard.state is not ShardState.ACTIVE:
                continue
            offsets = shard.machine.offsets
            for group_id in offsets.groups():
                left_out += self._take(group_id, offsets.of_group(group_id), found)
                await breather.pause()
        return found, left_out

    def _take(
        self, group_id: str, topics: Mapping[str, Partitions], found: list[GroupOffset]
    ) -> int:
        """Add the offsets of one group to `found`; return how many were left out for lack of room.

        Offsets of partitions that do not exist are skipped, and counted only beyond the limit.
        """
        image = self._node.metadata.image
        left_out = 0
        for name, partitions in topics.items():
            if len(found) >= OFFSETS_MAX:
                left_out += len(partitions)
                continue
            topic = image.topic(name)
            for index, committed in partitions.items():
                if topic is None or index >= len(topic.partitions):
                    continue
                if not committed.is_of(topic.topic_id):
                    continue
                if len(found) < OFFSETS_MAX:
                    found.append(GroupOffset(group_id, name, index, committed.offset))
                else:
                    left_out += 1
        return left_out

    # Log ends

    async def _log_ends(self, wanted: Iterable[_Partition]) -> dict[_Partition, int]:
        self._requests.channels.close_old()
        ends: dict[_Partition, int] = {}
        elsewhere: dict[int, list[_Partition]] = {}
        image = self._node.metadata.image
        breather = Breather()
        for name, index in wanted:
            await breather.pause()
            topic = image.topic(name)
            if topic is None or index >= len(topic.partitions):
                continue
            leader = topic.partitions[index].leader
            if leader == self._node.node_id:
                end = self._own_end(name, index)
                if end is not None:
                    ends[name, index] = end
            elif leader >= 0:
                elsewhere.setdefault(leader, []).append((name, index))
        deadline = asyncio.get_running_loop().time() + _PATIENCE_S
        asked = (self._ask(leader, some, deadline, ends) for leader, some in elsewhere.items())
        await asyncio.gather(*asked)
        return ends

    def _own_end(self, topic: str, index: int) -> int | None:
        """What ListOffsets would answer."""
        partition = self._node.partitions.find(topic, index)
        if partition is None or partition.leader is None or partition.log.failure is not None:
            return None
        reader, log = Reader.UNCOMMITTED, partition.log
        if check_latest(log, partition.leader.epoch_start_offset, reader):
            return None
        return read_limit(log, reader)

    async def _ask(
        self,
        leader: int,
        partitions: list[_Partition],
        deadline: float,
        ends: dict[_Partition, int],
    ) -> None:
        for start in range(0, len(partitions), _PARTITIONS_AT_ONCE):
            left_s = deadline - asyncio.get_running_loop().time()
            body = _latest_of(partitions[start : start + _PARTITIONS_AT_ONCE])
            try:
                answer: m.ListOffsetsResponse = await self._requests.ask(
                    leader, ApiKey.LIST_OFFSETS, body, timeout_s=max(left_s, 0)
                )
            except UnansweredError:
                return
            for topic in answer.topics:
                for each in topic.partitions:
                    if each.error_code == ErrorCode.NONE:
                        ends[topic.name, each.partition_index] = each.offset


def _latest_of(partitions: Iterable[_Partition]) -> m.ListOffsetsRequest:
    topics: dict[str, list[m.ListOffsetsPartition]] = {}
    for topic, index in partitions:
        asked = m.ListOffsetsPartition(partition_index=index, timestamp=_LATEST)
        topics.setdefault(topic, []).append(asked)
    return m.ListOffsetsRequest(
        replica_id=_CONSUMER,
        topics=[m.ListOffsetsTopic(name=name, partitions=some) for name, some in topics.items()],
    )
