"""AddPartitionsToTxn: partitions become part of a transaction, or are looked up in it.

Up to version 3 a client sends it, before it produces. From version 4 on a partition's leader does,
for the transactions of several producers at once: to add the partition for a client of transaction
version 2, or to verify that a client of the classic version has added it (KIP-890).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from broker.api.portions import portions
from broker.api.request import Request
from broker.api.transaction_codes import for_version
from broker.metadata.internal_topics import INTERNAL_TOPICS
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError
from broker.transactions.machine import ProducerPartitions
from broker.transactions.transaction import BUMPING, CLASSIC, TopicPartition

if TYPE_CHECKING:
    from broker.node import Node

_FIRST_VERSION_OF_BROKERS = 4
_FIRST_VERSION_WITH_FENCED = 2


async def add_partitions_to_txn(
    node: Node, request: Request[m.AddPartitionsToTxnRequest]
) -> m.AddPartitionsToTxnResponse:
    body = request.body
    if request.version >= _FIRST_VERSION_OF_BROKERS:
        return await _for_brokers(node, request)
    asked = m.AddPartitionsToTxnTransaction(
        transactional_id=body.v3_and_below_transactional_id,
        producer_id=body.v3_and_below_producer_id,
        producer_epoch=body.v3_and_below_producer_epoch,
        verify_only=False,
        topics=body.v3_and_below_topics,
    )
    outcome = await _ask(node, request, asked, CLASSIC)
    await _take_reply(outcome)
    return m.AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=await _results(outcome, request)
    )


async def _for_brokers(
    node: Node, request: Request[m.AddPartitionsToTxnRequest]
) -> m.AddPartitionsToTxnResponse:
    """Each portion is asked before its first answer is awaited, so its records share an append."""
    results: list[m.AddPartitionsToTxnResult] = []
    for portion in portions(request.body.transactions):
        asked = [await _ask(node, request, each, BUMPING) for each in portion]
        request.will_wait()
        for outcome in asked:
            await _take_reply(outcome)
        await request.goes_on()
        for each, outcome in zip(portion, asked, strict=True):
            await request.pause()
            results.append(
                m.AddPartitionsToTxnResult(
                    transactional_id=each.transactional_id,
                    topic_results=await _results(outcome, request),
                )
            )
    return m.AddPartitionsToTxnResponse(results_by_transaction=results)


class _Asked:
    """What is known of a transaction's partitions, and the question for the rest."""

    def __init__(self, topics: list[m.AddPartitionsToTxnTopic]) -> None:
        self.topics = topics
        self.partitions: list[TopicPartition] = [
            (topic.name, index) for topic in topics for index in topic.partitions
        ]
        self.codes: dict[TopicPartition, int] = {}
        """For single partitions; `code` is for all others."""
        self.code: int = ErrorCode.NONE
        self.reply: asyncio.Future[Any] | None = None


async def _ask(
    node: Node,
    request: Request[m.AddPartitionsToTxnRequest],
    asked: m.AddPartitionsToTxnTransaction,
    version: int,
) -> _Asked:
    """Nothing is added if one of the partitions does not exist, or if a client names one that only
    brokers write to."""
    outcome = _Asked(asked.topics)
    is_client = request.version < _FIRST_VERSION_OF_BROKERS
    for name, index in outcome.partitions:
        await request.pause()
        topic = node.metadata.image.topic(name)
        if is_client and name in INTERNAL_TOPICS:
            outcome.codes[name, index] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        elif topic is None or not 0 <= index < len(topic.partitions):
            outcome.codes[name, index] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if outcome.codes:
        outcome.code = ErrorCode.OPERATION_NOT_ATTEMPTED
    elif not asked.transactional_id:
        outcome.code = ErrorCode.INVALID_REQUEST
    else:
        producer = ProducerPartitions(
            asked.transactional_id, asked.producer_id, asked.producer_epoch, outcome.partitions
        )
        outcome.reply = node.transactions.by_id.ask(
            asked.transactional_id,
            lambda machine, ticket, now: (
                machine.verify_partitions(ticket, producer)
                if asked.verify_only
                else machine.add_partitions(ticket, producer, version, now)
            ),
        )
    return outcome


async def _take_reply(asked: _Asked) -> None:
    if asked.reply is None:
        return
    # An error is not raised, because thousands of tracebacks would keep memory.
    result: KafkaError | ErrorCode | dict[TopicPartition, int] = await asked.reply
    if isinstance(result, KafkaError):
        asked.code = result.code
    elif isinstance(result, dict):
        asked.codes = result
    else:
        asked.code = result


async def _results(
    asked: _Asked, request: Request[m.AddPartitionsToTxnRequest]
) -> list[m.AddPartitionsToTxnTopicResult]:
    """In the form of the request."""
    results: list[m.AddPartitionsToTxnTopicResult] = []
    for topic in asked.topics:
        await request.pause()
        parts: list[m.AddPartitionsToTxnPartitionResult] = []
        for index in topic.partitions:
            await request.pause()
            code = asked.codes.get((topic.name, index), asked.code)
            code = for_version(code, request.version, _FIRST_VERSION_WITH_FENCED)
            parts.append(
                m.AddPartitionsToTxnPartitionResult(
                    partition_index=index, partition_error_code=code
                )
            )
        results.append(m.AddPartitionsToTxnTopicResult(name=topic.name, results_by_partition=parts))
    return results
