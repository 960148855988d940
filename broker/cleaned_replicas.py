"""How far every replica of a partition has been compacted: below that, deletions may be forgotten.

A tombstone says that older records of its key are gone, and a marker whether the records of its
transaction count. Kafka removes both after `delete.retention.ms`, on each replica by itself. A
replica that was down meanwhile never receives them: it keeps the deleted value, or the aborted
record, and shows it when it leads.

So a tombstone or marker stays until every assigned replica has been compacted beyond it. From then
on no replica has a record that it governs, so none can serve one to a replica that starts anew or
lags behind. Each replica asks the others before it compacts, whether it leads or not. What one has
reported stays true while it is down, because a log is never cut below what was compacted.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from broker.broker_requests import BrokerRequests
from broker.log.compaction import NO_LIMIT
from broker.log.log import Log
from broker.partition import Partition
from broker.peers.channel import UnansweredError
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from broker.node import Node

CLEANED = -1000
"""The timestamp of a ListOffsets request between brokers that asks any replica for the offset up
to which its log has been compacted. Clients that send it are refused."""

_BY_TIME = "time"
_PATIENCE_S = 2.0

_Replica = tuple[bytes, int, int]
"""The topic's id, the partition and the broker."""


class CleanedReplicas:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._reported: dict[_Replica, int] = {}
        self._requests = BrokerRequests(node, "cleaner")

    async def removable_below(self, log: Log) -> int:
        """Tombstones and markers below this offset may be removed once their time is up."""
        if self._node.config.reference_log_cleaner_removal_rule == _BY_TIME:
            return NO_LIMIT
        partition = self._node.partitions.find(log.topic, log.partition)
        if partition is None or partition.log is not log or partition.info is None:
            return 0  # a log that is being moved, or that is not a partition yet
        others = [each for each in partition.info.replicas if each != self._node.node_id]
        if not others:
            return NO_LIMIT
        reports = await asyncio.gather(*(self._report_of(each, partition) for each in others))
        return min(*reports, self._node.partitions.cleaned_to(partition))

    async def _report_of(self, broker_id: int, partition: Partition) -> int:
        replica = (partition.topic_id, partition.index, broker_id)
        known = self._reported.get(replica, 0)
        broker = self._node.metadata.image.brokers.get(broker_id)
        if broker is None or broker.fenced:
            return known
        answer = await self._ask(broker_id, partition)
        if answer is None:
            return known
        self._reported[replica] = max(answer, known)
        return self._reported[replica]

    async def _ask(self, broker_id: int, partition: Partition) -> int | None:
        asked = m.ListOffsetsPartition(
            partition_index=partition.index,
            current_leader_epoch=partition.leader_epoch,
            timestamp=CLEANED,
        )
        body = m.ListOffsetsRequest(
            replica_id=self._node.node_id,
            topics=[m.ListOffsetsTopic(name=partition.topic, partitions=[asked])],
        )
        try:
            answer: m.ListOffsetsResponse = await self._requests.ask(
                broker_id, ApiKey.LIST_OFFSETS, body, timeout_s=_PATIENCE_S
            )
        except UnansweredError:
            return None
        [found] = answer.topics[0].partitions
        return None if found.error_code != ErrorCode.NONE else found.offset

    def close(self) -> None:
        self._requests.close()
