"""Fetch: records from an offset on, at once or when enough of them are there."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from broker.api.fetch_arrival import CONSUMER, TargetId, replica_of, take_news, take_news_of
from broker.api.fetch_reading import FetchLimits, Reading, read_all, read_target
from broker.api.fetch_sessions import FetchSession, FetchTarget
from broker.api.isolation import is_known
from broker.api.request import Request, in_slices
from broker.disk.interface import ColdReadError
from broker.partition import wait_for_change
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode, KafkaError
from broker.replication.read_limits import Reader
from broker.watchers import wait_for_any

if TYPE_CHECKING:
    from broker.node import Node

_FIRST_VERSION_BY_TOPIC_ID = 13
_FIRST_VERSION_WITH_SESSIONS = 7
_FIRST_VERSION_WITH_FOLLOWERS = 11
_LOOK_THROUGH_S = 0.1
_LOOK_THROUGH_S_PER_PARTITION = 0.0002
"""One look costs some ten microseconds: of thousands, no more than a twentieth of the time."""
_WIDE_WAIT_S = 0.1
"""A request that names very many partitions holds too much memory to wait for long."""

_Topics = dict[str | bytes, m.FetchableTopicResponse]


def fetch(
    node: Node, request: Request[m.FetchRequest]
) -> m.FetchResponse | Coroutine[Any, Any, m.FetchResponse]:
    if request.version < _FIRST_VERSION_WITH_SESSIONS:
        request.body.session_epoch = -1
    if not is_known(request.body.isolation_level):
        return _refuse_isolation_level(request)
    if request.breather is not None:
        return _fetch_wide(node, request)
    body = request.body
    by_topic_id = request.version >= _FIRST_VERSION_BY_TOPIC_ID
    now = asyncio.get_running_loop().time()
    try:
        session = node.fetch_sessions.begin(body, by_topic_id=by_topic_id, now=now)
    except KafkaError as error:
        return m.FetchResponse(error_code=error.code)
    replica, broker_epoch = replica_of(body)
    problems: Mapping[TargetId, m.FetchResponsePartitionData] = {}
    if replica != CONSUMER:
        told = session.told_by_follower(now, _look_through_s(node, session))
        problems = take_news(node, told, replica, broker_epoch)
    limits = _limits(node, request, session, problems)
    try:
        reading = _read(node, session, limits)
    except ColdReadError:
        return _fetch_later(node, body, session, limits, now)
    if _is_enough(body, session, reading):
        return _answer(node, session, reading)
    return _fetch_later(node, body, session, limits, now)


async def _refuse_isolation_level(request: Request[m.FetchRequest]) -> m.FetchResponse:
    """What Kafka answers to a request that it fails on: it names partitions only to old clients."""
    code = ErrorCode.UNKNOWN_SERVER_ERROR
    answer = m.FetchResponse(error_code=code, session_id=request.body.session_id)
    if request.version >= _FIRST_VERSION_BY_TOPIC_ID:
        return answer
    for topic in request.body.topics:
        answer.responses.append(m.FetchableTopicResponse(topic=topic.topic, partitions=[]))
        for each in topic.partitions:
            await request.pause()
            refused = m.FetchResponsePartitionData(
                partition_index=each.partition,
                error_code=code,
                high_watermark=-1,
                records=b"",
                aborted_transactions=[],
            )
            answer.responses[-1].partitions.append(refused)
    return answer


async def _fetch_wide(node: Node, request: Request[m.FetchRequest]) -> m.FetchResponse:
    """Same as `fetch`, for very many partitions: in slices.

    Nothing that is found in one slice is relied on in another: each partition is judged by itself,
    and what changes behind the reading stands in the journal behind the place where it began.
    """
    body = request.body
    by_topic_id = request.version >= _FIRST_VERSION_BY_TOPIC_ID
    now = asyncio.get_running_loop().time()
    steps = node.fetch_sessions.begin_in_steps(body, by_topic_id=by_topic_id, now=now)
    assert request.breather is not None
    try:
        session = await in_slices(steps, request.breather)
    except KafkaError as error:
        return m.FetchResponse(error_code=error.code)
    replica, broker_epoch = replica_of(body)
    problems: dict[TargetId, m.FetchResponsePartitionData] = {}
    if replica != CONSUMER:
        for target in list(session.told_by_follower(now, _look_through_s(node, session))):
            await request.pause()
            problem = take_news_of(node, target, replica, broker_epoch)
            if problem is not None:
                problems[target.topic_id, target.index] = problem
    limits = _limits(node, request, session, problems)
    until = now + min(body.max_wait_ms / 1000, _WIDE_WAIT_S)
    while True:
        read_up_to = node.change_journal.end
        reading = await _read_in_slices(node, request, session, limits)
        if limits.reader is Reader.FOLLOWER:
            session.read_for_follower(reading.answers, read_up_to)
        if _is_enough(body, session, reading) or asyncio.get_running_loop().time() >= until:
            return await _answer_in_slices(node, request, session, reading)
        request.will_wait()
        await _wait(node, limits, reading, until)


async def _read_in_slices(
    node: Node, request: Request[m.FetchRequest], session: FetchSession, limits: FetchLimits
) -> Reading:
    reading = Reading(left=limits.max_bytes)
    targets: Iterable[FetchTarget] = session.targets.values()
    if limits.reader is Reader.FOLLOWER:
        targets = session.to_read_for_follower(node.change_journal)
    for target in list(targets):
        while True:
            await request.pause()
            try:
                read_target(node, target, limits, reading)
                break
            except ColdReadError as cold:
                await cold.warm()
    return reading


def _look_through_s(node: Node, session: FetchSession) -> float:
    return min(
        max(_LOOK_THROUGH_S, _LOOK_THROUGH_S_PER_PARTITION * len(session.targets)),
        node.config.replica_lag_time_max_ms / 10_000,
    )


def _limits(
    node: Node,
    request: Request[m.FetchRequest],
    session: FetchSession,
    problems: Mapping[TargetId, m.FetchResponsePartitionData],
) -> FetchLimits:
    return FetchLimits.of(
        request.body,
        max_bytes=node.config.fetch_max_bytes,
        by_topic_id=session.by_topic_id,
        for_replica=replica_of(request.body)[0] != CONSUMER,
        may_follow=request.version >= _FIRST_VERSION_WITH_FOLLOWERS,
        only_news=session.incremental,
        problems=problems,
    )


async def _fetch_later(
    node: Node,
    body: m.FetchRequest,
    session: FetchSession,
    limits: FetchLimits,
    arrived: float,
) -> m.FetchResponse:
    loop = asyncio.get_running_loop()
    until = arrived + body.max_wait_ms / 1000
    while True:
        try:
            reading = _read(node, session, limits)
        except ColdReadError as cold:
            await cold.warm()
            continue
        if _is_enough(body, session, reading) or loop.time() >= until:
            return _answer(node, session, reading)
        await _wait(node, limits, reading, until)


async def _wait(node: Node, limits: FetchLimits, reading: Reading, until: float) -> None:
    if limits.reader is Reader.FOLLOWER:
        await wait_for_any([node.change_journal.watchers], until)
    else:
        await wait_for_change(reading.partitions, until)


def _read(node: Node, session: FetchSession, limits: FetchLimits) -> Reading:
    """Raises ColdReadError."""
    if limits.reader is not Reader.FOLLOWER:
        return read_all(node, session.targets.values(), limits)
    journal = node.change_journal
    reading = read_all(node, session.to_read_for_follower(journal), limits)
    session.read_for_follower(reading.answers, journal.end)
    return reading


def _is_enough(body: m.FetchRequest, session: FetchSession, reading: Reading) -> bool:
    return (
        reading.must_answer
        or reading.byte_count >= body.min_bytes
        or body.max_wait_ms <= 0
        or not session.targets
    )


def _answer(node: Node, session: FetchSession, reading: Reading) -> m.FetchResponse:
    topics: _Topics = {}
    for target, answer in reading.answers:
        _add_to_answer(node, session, topics, target, answer)
    return m.FetchResponse(session_id=session.session_id, responses=list(topics.values()))


async def _answer_in_slices(
    node: Node, request: Request[m.FetchRequest], session: FetchSession, reading: Reading
) -> m.FetchResponse:
    topics: _Topics = {}
    for target, answer in reading.answers:
        await request.pause()
        _add_to_answer(node, session, topics, target, answer)
    return m.FetchResponse(session_id=session.session_id, responses=list(topics.values()))


def _add_to_answer(
    node: Node,
    session: FetchSession,
    topics: _Topics,
    target: FetchTarget,
    answer: m.FetchResponsePartitionData,
) -> None:
    is_news = target.is_news(answer)
    if session.incremental and not is_news:
        return
    key = target.topic_id if session.by_topic_id else target.topic
    topic = topics.get(key)
    if topic is None:
        topic = topics[key] = m.FetchableTopicResponse(
            topic=target.topic, topic_id=target.topic_id, partitions=[]
        )
    topic.partitions.append(answer)
    if answer.error_code:
        node.metrics.request_failed(ApiKey.FETCH, answer.error_code)
        if node.metadata.image.topic(target.topic) is not None:
            node.metrics.fetch_failed(target.topic)
    if answer.records:
        node.metrics.fetched(target.topic, len(answer.records))
        if session.session_id:
            session.to_the_back(target)
