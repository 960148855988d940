"""The brokers that transaction markers go to: the leaders of partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.broker_requests import BrokerRequests
from broker.metadata.partition_info import NO_LEADER, PartitionInfo
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.transactions.transaction import TopicPartition

if TYPE_CHECKING:
    from broker.node import Node

_ANSWER_S = 5.0
"""How much longer than the broker's own patience an answer may take."""


class MarkerTargets:
    """Implements `transaction_markers.Leaders`."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._requests = BrokerRequests(node, "transaction-markers")

    def exists(self, partition: TopicPartition) -> bool:
        return self._info(partition) is not None

    def leader_of(self, partition: TopicPartition) -> int | None:
        info = self._info(partition)
        return None if info is None or info.leader == NO_LEADER else info.leader

    def _info(self, partition: TopicPartition) -> PartitionInfo | None:
        name, index = partition
        topic = self._node.metadata.image.topic(name)
        if topic is None or not 0 <= index < len(topic.partitions):
            return None
        return topic.partitions[index]

    async def write_markers(
        self, broker_id: int, body: m.WriteTxnMarkersRequest
    ) -> m.WriteTxnMarkersResponse:
        patience_s = self._node.config.request_timeout_ms / 1000 + _ANSWER_S
        answer: m.WriteTxnMarkersResponse = await self._requests.ask(
            broker_id, ApiKey.WRITE_TXN_MARKERS, body, timeout_s=patience_s
        )
        return answer

    def close(self) -> None:
        self._requests.close()
