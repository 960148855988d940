"""AddOffsetsToTxn: the offsets of a group become part of a transaction.

A group's offsets lie in one partition of `__consumer_offsets`; that partition joins the transaction
and gets its marker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.request import Request
from broker.api.transaction_codes import for_version
from broker.coordination.internal_topics import partition_for
from broker.metadata.internal_topics import GROUPS_TOPIC
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError
from broker.transactions.machine import ProducerPartitions
from broker.transactions.transaction import CLASSIC

if TYPE_CHECKING:
    from broker.node import Node

_FIRST_VERSION_WITH_FENCED = 2


async def add_offsets_to_txn(
    node: Node, request: Request[m.AddOffsetsToTxnRequest]
) -> m.AddOffsetsToTxnResponse:
    body = request.body
    if not body.transactional_id:
        return m.AddOffsetsToTxnResponse(error_code=ErrorCode.INVALID_REQUEST)
    topic = node.groups.topic
    count = node.config.offsets_topic_num_partitions if topic is None else len(topic.partitions)
    producer = ProducerPartitions(
        body.transactional_id,
        body.producer_id,
        body.producer_epoch,
        [(GROUPS_TOPIC, partition_for(body.group_id, count))],
    )
    try:
        code: ErrorCode = await node.transactions.by_id.submit(
            body.transactional_id,
            lambda machine, ticket, now: machine.add_partitions(ticket, producer, CLASSIC, now),
        )
    except KafkaError as error:
        code = error.code
    return m.AddOffsetsToTxnResponse(
        error_code=for_version(code, request.version, _FIRST_VERSION_WITH_FENCED)
    )
