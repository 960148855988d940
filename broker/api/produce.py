"""Produce: appends each partition's batch, and answers as `acks` asks."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from broker.api.leadership import partition_to_serve
from broker.api.prepared_answer import (
    FIRST_VERSION,
    FIRST_VERSION_BY_TOPIC_ID,
    PreparedAnswer,
    answer_template,
)
from broker.api.produced_batch import one_batch
from broker.api.request import CloseConnectionError, Request
from broker.api.transactional_produce import Opening, check_of, opening_of, verify
from broker.log.breather import Breather
from broker.log.log import Appended
from broker.log.record_check import RejectedRecordsError, WorkBudget
from broker.partition import Partition
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode, KafkaError
from broker.replication.leader import ACKS_ALL, ACKS_LEADER

if TYPE_CHECKING:
    from broker.node import Node

_WITHOUT_LOG_START = frozenset(
    (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    )
)
"""Errors of an append that Kafka answers without the start of the log."""

Waiting = tuple[Partition, memoryview, m.PartitionProduceResponse, Opening | None]
"""With the transaction that the batch would open, if it would."""

Uncommitted = tuple[Partition, int, asyncio.Future[ErrorCode], m.PartitionProduceResponse]
"""With the offset behind what was appended, and what will come of it. Waited for from the append
on: a later leadership of this node's must not vouch for what another one appended."""


Answer = m.ProduceResponse | Coroutine[Any, Any, m.ProduceResponse | None] | None
AnswerToOne = PreparedAnswer | Coroutine[Any, Any, PreparedAnswer | m.ProduceResponse] | None


class _Pending:
    """What one request has come to so far."""

    __slots__ = ("partitions", "response", "uncommitted", "waiting")

    def __init__(self) -> None:
        self.response = m.ProduceResponse(responses=[])
        self.waiting: list[Waiting] = []
        self.partitions: set[Partition] = set()  # those of `waiting`
        self.uncommitted: list[Uncommitted] = []

    def begin(self, topic: m.TopicProduceData) -> list[m.PartitionProduceResponse]:
        answers: list[m.PartitionProduceResponse] = []
        self.response.responses.append(
            m.TopicProduceResponse(
                name=topic.name, topic_id=topic.topic_id, partition_responses=answers
            )
        )
        return answers


def produce(node: Node, request: Request[m.ProduceRequest]) -> Answer | AnswerToOne:
    topics = request.body.topic_data
    budget = WorkBudget()
    if len(topics) == 1 and len(topics[0].partition_data) == 1:
        answer = _produce_one(node, request, topics[0], budget)
        if answer is not None:
            return answer
    if request.breather is not None:
        return _produce_wide(node, request)
    return _produce_all(node, request, budget)


def _produce_one(
    node: Node, request: Request[m.ProduceRequest], topic: m.TopicProduceData, budget: WorkBudget
) -> AnswerToOne:
    """The usual case in few steps. None, and nothing has happened, for whatever is unusual."""
    version, acks, (data,) = request.version, request.body.acks, topic.partition_data
    if not FIRST_VERSION <= version < FIRST_VERSION_BY_TOPIC_ID:
        return None
    partition = node.partitions.find(topic.name, data.index)
    if partition is None or partition.is_internal:
        return None
    try:
        if acks != ACKS_LEADER:
            if acks != ACKS_ALL:
                return None
            partition.check_acks(acks)
        records = one_batch(data.records, version)
        appended = partition.append_at_once(records, budget)
    except KafkaError:
        # Refused before anything was written, and it will be again, with an answer that says so.
        return None
    if appended is None:
        return None
    if not appended.duplicate:
        count = appended.last_offset - appended.base_offset + 1
        node.metrics.produced(topic.name, count, len(records))
    answer = PreparedAnswer(
        answer_template(version, topic.name, data.index),
        appended.base_offset,
        appended.log_append_time_ms,
        appended.log_start_offset,
    )
    if acks == ACKS_LEADER:
        return answer
    end = _end(appended)
    if partition.is_committed(end):
        partition.acknowledged(end)
        return answer
    outcome = partition.committed(end, request.body.timeout_ms / 1000)
    return _answer_when_committed(node, request, partition, end, outcome, answer)


async def _answer_when_committed(
    node: Node,
    request: Request[m.ProduceRequest],
    partition: Partition,
    end: int,
    outcome: asyncio.Future[ErrorCode],
    prepared: PreparedAnswer,
) -> PreparedAnswer | m.ProduceResponse:
    code = await outcome
    if not code:
        partition.acknowledged(end)
        return prepared
    answer = m.PartitionProduceResponse(index=partition.index, base_offset=-1)
    _fill_uncommitted(node, request, partition, end, answer, code)
    topic = m.TopicProduceResponse(name=partition.topic, partition_responses=[answer])
    return m.ProduceResponse(responses=[topic])


def _produce_all(node: Node, request: Request[m.ProduceRequest], budget: WorkBudget) -> Answer:
    pending = _Pending()
    for topic in request.body.topic_data:
        if not topic.partition_data:
            continue  # nothing to answer, so Kafka leaves the topic out
        answers = pending.begin(topic)
        for data in topic.partition_data:
            answers.append(_append_one(node, request, topic, data, pending, budget))
    if pending.waiting or pending.uncommitted:
        return _finish_later(node, pending, request)
    return _as_asked(pending.response, request.body.acks)


async def _produce_wide(node: Node, request: Request[m.ProduceRequest]) -> m.ProduceResponse | None:
    """Same as `_produce_all`, for very many partitions: in slices."""
    pending = _Pending()
    for topic in request.body.topic_data:
        await request.pause()
        if not topic.partition_data:
            continue  # nothing to answer, so Kafka leaves the topic out
        answers = pending.begin(topic)
        for data in topic.partition_data:
            await request.pause()
            answers.append(_append_one(node, request, topic, data, pending, WorkBudget()))
    request.will_wait()
    return await _finish_later(node, pending, request)


def _append_one(
    node: Node,
    request: Request[m.ProduceRequest],
    topic: m.TopicProduceData,
    data: m.PartitionProduceData,
    pending: _Pending,
    budget: WorkBudget,
) -> m.PartitionProduceResponse:
    body = request.body
    answer = m.PartitionProduceResponse(index=data.index, error_code=0, base_offset=-1)
    try:
        name = _topic_name(node, request.version, topic)
        partition = partition_to_serve(node, name, data.index)
        if partition.is_internal:
            raise KafkaError(
                ErrorCode.INVALID_TOPIC_EXCEPTION, f"{name} is written by brokers only"
            )
        records = one_batch(data.records, request.version, body.transactional_id)
        _check_acks(body, partition)
        answer.log_start_offset = partition.log.start_offset
        opening = None
        if body.transactional_id is not None:
            opening = opening_of(node, request, partition, records)
        # A partition that is named twice waits twice, or its batches would change order.
        waits = opening is not None or partition in pending.partitions
        appended = None if waits else partition.append_at_once(records, budget)
        if appended is None:
            # The view is of the connection's buffer, which the next read overwrites.
            pending.waiting.append((partition, memoryview(bytearray(records)), answer, opening))
            pending.partitions.add(partition)
        else:
            _fill(node, partition, records, answer, appended)
            if body.acks == ACKS_ALL:
                if partition.is_committed(_end(appended)):
                    partition.acknowledged(_end(appended))
                else:
                    pending.uncommitted.append(_wait_for_commit(partition, appended, answer, body))
    except KafkaError as error:
        _fill_error(node, request, topic.name, answer, error, len(data.records or b""))
    return answer


async def _finish_later(
    node: Node, pending: _Pending, request: Request[m.ProduceRequest]
) -> m.ProduceResponse | None:
    body, waiting, uncommitted = request.body, pending.waiting, pending.uncommitted
    held_bytes = sum(len(records) for _, records, _, _ in waiting)
    node.server.memory.hold(held_bytes)
    breather = Breather()
    try:
        openings = [opening for _, _, _, opening in waiting if opening is not None]
        problems = await verify(node, request, openings) if openings else {}
        for partition, records, answer, opening in waiting:
            await breather.pause()
            try:
                if opening in problems:
                    answer.log_start_offset = -1  # as Kafka: the log was not asked
                    raise problems[opening]
                check = None if opening is None else check_of(request, opening)
                appended = await partition.append(records, breather, check)
                _fill(node, partition, records, answer, appended)
                if body.acks == ACKS_ALL:
                    uncommitted.append(_wait_for_commit(partition, appended, answer, body))
            except KafkaError as error:
                _fill_error(node, request, partition.topic, answer, error, len(records))
    finally:
        node.server.memory.let_go(held_bytes)
    for partition, end, outcome, answer in uncommitted:
        code = await outcome
        if code:
            _fill_uncommitted(node, request, partition, end, answer, code)
        else:
            partition.acknowledged(end)
    return _as_asked(pending.response, body.acks)


def _wait_for_commit(
    partition: Partition,
    appended: Appended,
    answer: m.PartitionProduceResponse,
    body: m.ProduceRequest,
) -> Uncommitted:
    end = _end(appended)
    return partition, end, partition.committed(end, body.timeout_ms / 1000), answer


def _topic_name(node: Node, version: int, topic: m.TopicProduceData) -> str:
    if version < FIRST_VERSION_BY_TOPIC_ID:
        return topic.name
    found = node.metadata.image.topic_by_id(topic.topic_id)
    if found is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, f"no topic {topic.topic_id.hex()}")
    return found.name


def _check_acks(body: m.ProduceRequest, partition: Partition) -> None:
    if body.acks not in (-1, 0, 1):
        raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS, f"acks is {body.acks}, not -1, 0 or 1")
    partition.check_acks(body.acks)


def _end(appended: Appended) -> int:
    return appended.last_offset + 1


def _fill(
    node: Node,
    partition: Partition,
    records: memoryview,
    answer: m.PartitionProduceResponse,
    appended: Appended,
) -> None:
    answer.base_offset = appended.base_offset
    answer.log_append_time_ms = appended.log_append_time_ms
    answer.log_start_offset = appended.log_start_offset
    if not appended.duplicate:
        count = appended.last_offset - appended.base_offset + 1
        node.metrics.produced(partition.topic, count, len(records))


def _fill_error(
    node: Node,
    request: Request[m.ProduceRequest],
    topic: str,
    answer: m.PartitionProduceResponse,
    error: KafkaError,
    rejected_bytes: int = 0,
) -> None:
    answer.error_code = error.code
    answer.error_message = request.explain(error)
    if error.code in _WITHOUT_LOG_START:
        answer.log_start_offset = -1
    if isinstance(error, RejectedRecordsError):
        count = request.explain_details(error.named_count)
        answer.record_errors = [
            m.BatchIndexAndErrorMessage(batch_index=number, batch_index_error_message=why)
            for number, why in error.explained(count)
        ]
    if node.metadata.image.topic(topic) is not None:  # or any name would be counted for ever
        size = rejected_bytes if error.code == ErrorCode.MESSAGE_TOO_LARGE else 0
        node.metrics.produce_failed(topic, size)
    node.metrics.request_failed(ApiKey.PRODUCE, error.code)


def _fill_uncommitted(
    node: Node,
    request: Request[m.ProduceRequest],
    partition: Partition,
    end: int,
    answer: m.PartitionProduceResponse,
    code: ErrorCode,
) -> None:
    problem = KafkaError(code, f"not committed up to offset {end}")
    _fill_error(node, request, partition.topic, answer, problem)
    answer.base_offset = -1


def _as_asked(response: m.ProduceResponse, acks: int) -> m.ProduceResponse | None:
    if acks != 0:
        return response
    # Nobody listens for an answer, so an error is told by closing the connection, as Kafka does.
    for topic in response.responses:
        for answer in topic.partition_responses:
            if answer.error_code:
                raise CloseConnectionError(
                    f"acks=0, and {topic.name}-{answer.index} failed: {answer.error_message}"
                )
    return None
