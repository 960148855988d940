"""TxnOffsetCommit: keeps how far a group has read, from the moment in which a transaction commits.

The partition of `__consumer_offsets` is part of the transaction as any other partition is: its
leader verifies, or adds, it before the first offsets open the transaction there (KIP-890). Member
and generation are checked when the offsets are written, not before the coordinator is asked
(KAFKA-15784).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from broker.api.request import Request
from broker.coordination.keyed_shards import reply_of
from broker.coordination.step import Now, ProducerIdAndEpoch, Step, Ticket, reply
from broker.group_events import tell_of_txn_commit
from broker.groups.machine import GroupMachine
from broker.groups.txn_offset_commit import txn_commit_failed
from broker.log.producer_state import Producer
from broker.metadata.internal_topics import GROUPS_TOPIC
from broker.partition import Partition
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError
from broker.transaction_verification import Support

if TYPE_CHECKING:
    from broker.node import Node

_FIRST_VERSION_WITH_ABORTABLE = 4
_FIRST_VERSION_THAT_ADDS = 5


async def txn_offset_commit(
    node: Node, request: Request[m.TxnOffsetCommitRequest]
) -> m.TxnOffsetCommitResponse:
    body = request.body
    unknown = await _leave_out_unknown(node, request)
    answer = m.TxnOffsetCommitResponse(topics=[])
    if body.topics:
        request.will_wait()
        try:
            answer = await _commit(node, request)
        except KafkaError as error:
            answer = txn_commit_failed(body, _for_client(error.code))
    _add(answer, unknown)
    return answer


async def _commit(
    node: Node, request: Request[m.TxnOffsetCommitRequest]
) -> m.TxnOffsetCommitResponse:
    """Raises KafkaError."""
    body = request.body
    if not body.group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID, "a group needs an id")
    if body.producer_id < 0:  # no marker would ever end its transaction
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING, "a producer has no negative id")
    index = node.groups.partition_of(body.group_id)
    partition = _led(node, index)
    support = _support_of(request.version)
    before = _known(partition, body)
    is_open = before is not None and before.has_open_transaction_in(body.producer_epoch)
    is_verified = not is_open and node.verification.is_needed(support)
    if is_verified:
        producer = ProducerIdAndEpoch(body.producer_id, body.producer_epoch)
        asked = (GROUPS_TOPIC, index)
        codes = await node.verification.ask(body.transactional_id, producer, [asked], support)
        if codes[asked]:
            raise KafkaError(codes[asked], f"{asked} is not verified")

    def run(machine: GroupMachine, ticket: Ticket, now: Now) -> Step:
        code = _fenced(partition, body, before, is_verified=is_verified)
        if code:
            return reply(ticket, txn_commit_failed(body, code))
        return tell_of_txn_commit(machine, body, machine.txn_offset_commit(ticket, body, now))

    answer: m.TxnOffsetCommitResponse = await reply_of(node.groups.shards.ask_alone(index, run))
    return answer


def _led(node: Node, index: int) -> Partition:
    shard = node.groups.shards.find(index)
    if shard is None:
        raise KafkaError(ErrorCode.NOT_COORDINATOR, f"{GROUPS_TOPIC}-{index} is led elsewhere")
    return shard.partition


def _known(partition: Partition, body: m.TxnOffsetCommitRequest) -> Producer | None:
    return partition.log.producers.producers.get(body.producer_id)


def _fenced(
    partition: Partition,
    body: m.TxnOffsetCommitRequest,
    before: Producer | None,
    *,
    is_verified: bool,
) -> ErrorCode:
    """By what the log knows of the producer now; `before` is what it knew before the question."""
    known = _known(partition, body)
    if known is not None and known.epoch > body.producer_epoch:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    is_open = known is not None and known.has_open_transaction_in(body.producer_epoch)
    if is_verified and not is_open and known is not before:
        return ErrorCode.INVALID_TXN_STATE  # a marker has ended the transaction meanwhile
    return ErrorCode.NONE


def _support_of(version: int) -> Support:
    if version >= _FIRST_VERSION_THAT_ADDS:
        return Support.ADDS
    return Support.ABORTABLE if version >= _FIRST_VERSION_WITH_ABORTABLE else Support.CLASSIC


def _for_client(code: ErrorCode) -> ErrorCode:
    """A client repeats the request when a coordinator loads, without looking for another one."""
    is_unanswered = code == ErrorCode.NETWORK_EXCEPTION
    return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if is_unanswered else code


async def _leave_out_unknown(
    node: Node, request: Request[m.TxnOffsetCommitRequest]
) -> list[m.TxnOffsetCommitRequestTopic]:
    """Takes partitions that do not exist out of the request, and returns them."""
    image = node.metadata.image
    known: list[m.TxnOffsetCommitRequestTopic] = []
    unknown: list[m.TxnOffsetCommitRequestTopic] = []
    for topic in request.body.topics:
        await request.pause()
        info = image.topic(topic.name)
        count = 0 if info is None else len(info.partitions)
        found: list[m.TxnOffsetCommitRequestPartition] = []
        missing: list[m.TxnOffsetCommitRequestPartition] = []
        for each in topic.partitions:
            await request.pause()
            (found if 0 <= each.partition_index < count else missing).append(each)
        for some, into in ((found, known), (missing, unknown)):
            if some:
                into.append(m.TxnOffsetCommitRequestTopic(name=topic.name, partitions=some))
    request.body.topics = known
    return unknown


def _add(
    answer: m.TxnOffsetCommitResponse, unknown: Sequence[m.TxnOffsetCommitRequestTopic]
) -> None:
    if not unknown:
        return
    body = m.TxnOffsetCommitRequest(topics=list(unknown))
    failed = txn_commit_failed(body, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    answered = {topic.name: topic for topic in answer.topics}
    for topic in failed.topics:
        if topic.name in answered:
            answered[topic.name].partitions += topic.partitions
        else:
            answer.topics.append(topic)
