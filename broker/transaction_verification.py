"""Asks a transaction's coordinator about partitions before the transaction is opened there.

A transactional batch that arrives late, after its transaction was aborted, would open a transaction
that no coordinator knows and none will end: readers of committed records would wait for ever
(KAFKA-14402). So a leader that has no open transaction of a producer asks the coordinator first
whether the partition belongs to one (KIP-890). For producers of transaction version 2, which do not
add partitions themselves, the same request adds it.

The answer may be out of date when it comes: a marker may have been written meanwhile. The caller
therefore holds a `Guard` of the partition, which a marker makes worthless (`Unopened`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING

from broker.broker_requests import BrokerRequests
from broker.coordination.internal_topics import partition_for
from broker.coordination.step import ProducerIdAndEpoch
from broker.metadata.internal_topics import TRANSACTIONS_TOPIC
from broker.metadata.partition_info import NO_LEADER
from broker.peers.channel import UnansweredError
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from broker.node import Node

TopicPartition = tuple[str, int]


class Support(Enum):
    """What a client understands, by the version of its request."""

    CLASSIC = auto()
    ABORTABLE = auto()
    """Knows TRANSACTION_ABORTABLE (KIP-1050)."""
    ADDS = auto()
    """Relies on the broker to add the partition (transaction version 2)."""


class TransactionVerification:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._requests = BrokerRequests(node, "transactions")

    def is_needed(self, support: Support) -> bool:
        """Partitions are added for producers of version 2 whatever the configuration says."""
        return (
            support is Support.ADDS or self._node.config.transaction_partition_verification_enable
        )

    async def ask(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Sequence[TopicPartition],
        support: Support,
    ) -> dict[TopicPartition, ErrorCode]:
        """An error for each partition: NONE, one of the coordinator's, or NETWORK_EXCEPTION.

        While the producer's last transaction still ends, an added partition is asked for again
        for a moment: it is usual, and a client would wait longer before its next attempt.
        """
        loop, config = asyncio.get_running_loop(), self._node.config
        until = loop.time() + config.add_partitions_to_txn_retry_backoff_max_ms / 1000
        while True:
            answered = await self._ask_once(transactional_id, producer, partitions, support)
            is_ending = ErrorCode.CONCURRENT_TRANSACTIONS in answered.values()
            if support is not Support.ADDS or not is_ending or loop.time() >= until:
                return {each: _for_client(code, support) for each, code in answered.items()}
            await asyncio.sleep(config.add_partitions_to_txn_retry_backoff_ms / 1000)

    async def _ask_once(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Sequence[TopicPartition],
        support: Support,
    ) -> dict[TopicPartition, ErrorCode]:
        topics: dict[str, list[int]] = {}
        for topic, index in partitions:
            topics.setdefault(topic, []).append(index)
        asked = m.AddPartitionsToTxnTransaction(
            transactional_id=transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            verify_only=support is not Support.ADDS,
            topics=[
                m.AddPartitionsToTxnTopic(name=name, partitions=some)
                for name, some in topics.items()
            ],
        )
        answer = await self._send(
            transactional_id, m.AddPartitionsToTxnRequest(transactions=[asked])
        )
        if isinstance(answer, ErrorCode):
            return dict.fromkeys(partitions, answer)
        if answer.error_code:
            return dict.fromkeys(partitions, ErrorCode(answer.error_code))
        found = {
            (topic.name, each.partition_index): ErrorCode(each.partition_error_code)
            for result in answer.results_by_transaction
            for topic in result.topic_results
            for each in topic.results_by_partition
        }
        return {each: found.get(each, ErrorCode.INVALID_TXN_STATE) for each in partitions}

    async def _send(
        self, transactional_id: str, body: m.AddPartitionsToTxnRequest
    ) -> m.AddPartitionsToTxnResponse | ErrorCode:
        topic = self._node.metadata.image.topic(TRANSACTIONS_TOPIC)
        if topic is None:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        leader = topic.partitions[partition_for(transactional_id, len(topic.partitions))].leader
        if leader == NO_LEADER or not self._requests.knows(leader):
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        try:
            patience_s = self._node.config.request_timeout_ms / 1000
            answer: m.AddPartitionsToTxnResponse = await self._requests.ask(
                leader, ApiKey.ADD_PARTITIONS_TO_TXN, body, timeout_s=patience_s
            )
        except UnansweredError:
            return ErrorCode.NETWORK_EXCEPTION
        return answer

    def close(self) -> None:
        self._requests.close()


def _for_client(code: ErrorCode, support: Support) -> ErrorCode:
    if code == ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH  # the word that a partition has for it
    if code == ErrorCode.TRANSACTION_ABORTABLE and support is Support.CLASSIC:
        return ErrorCode.INVALID_TXN_STATE
    return code
