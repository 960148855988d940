"""The brokers that transaction markers go to: this one by a call, the others by the network."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from broker.metadata.partition_info import NO_LEADER, PartitionInfo
from broker.peers.broker_channels import BrokerChannels
from broker.peers.channel import UnansweredError
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.transactions.transaction import TopicPartition

if TYPE_CHECKING:
    from broker.node import Node

_log = logging.getLogger(__name__)

_ANSWER_S = 5.0
"""How much longer than the broker's own patience an answer may take."""


class MarkerTargets:
    """Implements `transaction_markers.Leaders`."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._channels = BrokerChannels(
            node.world,
            lambda broker_id: node.role.address_of(broker_id),
            f"transaction-markers-of-{node.node_id}",
        )

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
        key = ApiKey.WRITE_TXN_MARKERS
        answer: m.WriteTxnMarkersResponse
        if broker_id == self._node.node_id:
            try:
                answer = await self._node.ask_own_broker(key, body)
            except Exception as problem:
                # Over the network it would cost a connection. It must not cost the node either.
                _log.exception("this broker does not take its own markers")
                raise UnansweredError(str(problem)) from problem
            return answer
        channel = self._channels.to(broker_id)
        if channel is None:
            raise UnansweredError(f"the address of broker {broker_id} is not known")
        patience_s = self._node.config.request_timeout_ms / 1000 + _ANSWER_S
        answer = await channel.ask(key, body, timeout_s=patience_s)
        return answer

    def close(self) -> None:
        self._channels.close()
