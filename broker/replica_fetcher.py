"""Follows one leader: fetches all partitions that it leads and this node holds a replica of."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from broker.partition import Partition
from broker.peers.backoff import Backoff
from broker.peers.channel import Channel, UnansweredError
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode, KafkaError
from broker.replication.fetch_check import Diverging
from broker.replication.follower import Answer, Question
from broker.watchers import Watchers, wait_for_any

_log = logging.getLogger(__name__)

_LOOK_THROUGH_S = 0.5
"""How often to look for what has changed in a log without an answer: its start, by retention."""

_Key = tuple[bytes, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class FetcherSettings:
    node_id: int
    timeout_s: float
    wait_max_ms: int
    min_bytes: int
    partition_bytes: int
    response_bytes: int


class _Followed:
    """One partition in the fetcher's care."""

    __slots__ = ("asked", "backoff", "partition")

    def __init__(self, partition: Partition, backoff: Backoff) -> None:
        self.partition = partition
        self.backoff = backoff
        self.asked: Question | None = None  # what the leader's session knows


class ReplicaFetcher:
    def __init__(
        self,
        channel: Channel,
        settings: FetcherSettings,
        *,
        broker_epoch: Callable[[], int | None],
        new_backoff: Callable[[], Backoff],
    ) -> None:
        self._channel = channel
        self._settings = settings
        self._broker_epoch = broker_epoch
        self._new_backoff = new_backoff
        self._followed: dict[_Key, _Followed] = {}
        self._resting: dict[_Key, float] = {}  # until when
        self._moved: dict[_Key, None] = {}
        """Of which something else may have to be asked now. All others are as they were, and a
        follower of thousands of partitions does not look at them before each fetch."""
        self._look_through_at = 0.0
        self._changed = Watchers()
        self._session_id = 0
        self._session_epoch = 0
        self._forgotten: dict[_Key, None] = {}
        self._is_asking = False

    def __len__(self) -> int:
        return len(self._followed)

    def follow(self, partition: Partition) -> None:
        """Also for one that is followed already, when its leader epoch has changed."""
        key = (partition.topic_id, partition.index)
        self._followed[key] = _Followed(partition, self._new_backoff())
        self._moved[key] = None
        self._resting.pop(key, None)
        self._forgotten.pop(key, None)
        self._interrupt()

    def forget(self, partition: Partition) -> None:
        key = (partition.topic_id, partition.index)
        if self._followed.pop(key, None) is not None:
            self._moved.pop(key, None)
            self._resting.pop(key, None)
            self._forgotten[key] = None

    def close(self) -> None:
        self._channel.close()

    def _interrupt(self) -> None:
        """The leader may hold a fetch for long: what is new does not wait for its answer."""
        if self._is_asking:
            self._channel.interrupt()
            self._begin_session()
        self._changed.wake()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            now = loop.time()
            self._wake_the_rested(now)
            epoch = self._broker_epoch()
            if len(self._resting) == len(self._followed) or epoch is None:
                wake_at = min(self._resting.values(), default=float("inf"))
                until = max(wake_at, now + 0.01) if epoch is not None else now + 0.05
                await wait_for_any([self._changed], until)
                continue
            if now >= self._look_through_at:
                self._look_through_at = now + _LOOK_THROUGH_S
                self._moved.update(dict.fromkeys(self._followed))
            await self._fetch(epoch)

    def _wake_the_rested(self, now: float) -> None:
        for key, until in list(self._resting.items()):
            if until <= now:
                del self._resting[key]
                self._moved[key] = None

    async def _fetch(self, broker_epoch: int) -> None:
        request = self._request(broker_epoch)
        self._is_asking = True
        try:
            answer: m.FetchResponse = await self._channel.ask(
                ApiKey.FETCH, request, timeout_s=self._settings.timeout_s
            )
        except UnansweredError as problem:
            _log.debug("replica fetch: %s", problem)
            self._begin_session()
            return
        finally:
            self._is_asking = False
        if answer.error_code:
            _log.debug("replica fetch: session error %d", answer.error_code)
            self._begin_session()
            return
        self._session_id = answer.session_id
        self._session_epoch = 1 if not self._session_epoch else self._session_epoch + 1
        for topic in answer.responses:
            for part in topic.partitions:
                key = (topic.topic_id, part.partition_index)
                followed = self._followed.get(key)
                # One that came anew meanwhile has not asked yet.
                if followed is not None and followed.asked is not None:
                    await self._take(key, followed, followed.asked, part)
        if not answer.session_id:
            self._begin_session()

    def _begin_session(self) -> None:
        self._session_id = self._session_epoch = 0
        self._forgotten.clear()
        for each in self._followed.values():
            each.asked = None
        self._moved = dict.fromkeys(self._followed)

    async def _take(
        self, key: _Key, followed: _Followed, asked: Question, part: m.FetchResponsePartitionData
    ) -> None:
        self._moved[key] = None
        parting, records = part.diverging_epoch, part.records
        has_records = isinstance(records, memoryview) and len(records) > 0
        answer = Answer(
            error=part.error_code,
            diverging=None if parting is None else Diverging(parting.epoch, parting.end_offset),
            has_records=has_records,
            high_watermark=part.high_watermark,
            log_start_offset=part.log_start_offset,
        )
        partition = followed.partition
        try:
            view = records if isinstance(records, memoryview) else None
            is_well = await partition.take(asked, answer, view)
        except (KafkaError, OSError) as problem:
            _log.warning("%s-%d cannot follow: %s", partition.topic, partition.index, problem)
            is_well = False
        if is_well:
            followed.backoff.reset()
            return
        if self._followed.get(key) is not followed:
            return
        rest_s = followed.backoff.next_s()
        self._resting[key] = asyncio.get_running_loop().time() + rest_s
        followed.asked = None
        if part.error_code not in (ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.NONE):
            _log.info(
                "%s-%d: the leader answers with error %d; asking again in %.2f s",
                partition.topic, partition.index, part.error_code, rest_s,
            )  # fmt: skip
        # A resting partition is out of the session, or its error would answer every fetch at once.
        self._forgotten[key] = None

    def _request(self, broker_epoch: int) -> m.FetchRequest:
        settings = self._settings
        topics: dict[bytes, m.FetchTopic] = {}
        moved, self._moved = self._moved, {}
        for key in moved:
            if key in self._resting:
                continue
            followed = self._followed[key]
            question = followed.partition.question()
            if self._session_id and followed.asked == question:
                continue
            followed.asked = question
            self._forgotten.pop(key, None)
            topic = topics.get(key[0])
            if topic is None:
                topic = topics[key[0]] = m.FetchTopic(topic_id=key[0], partitions=[])
            topic.partitions.append(
                m.FetchPartition(
                    partition=key[1],
                    current_leader_epoch=question.current_leader_epoch,
                    fetch_offset=question.fetch_offset,
                    last_fetched_epoch=question.last_fetched_epoch,
                    log_start_offset=question.log_start_offset,
                    partition_max_bytes=settings.partition_bytes,
                )
            )
        forgotten = self._forgotten_topics() if self._session_id else []
        self._forgotten.clear()
        return m.FetchRequest(
            replica_state=m.FetchRequestReplicaState(
                replica_id=settings.node_id, replica_epoch=broker_epoch
            ),
            max_wait_ms=settings.wait_max_ms,
            min_bytes=settings.min_bytes,
            max_bytes=settings.response_bytes,
            session_id=self._session_id,
            session_epoch=self._session_epoch,
            topics=list(topics.values()),
            forgotten_topics_data=forgotten,
        )

    def _forgotten_topics(self) -> list[m.ForgottenTopic]:
        topics: dict[bytes, m.ForgottenTopic] = {}
        for topic_id, index in self._forgotten:
            if topic_id not in topics:
                topics[topic_id] = m.ForgottenTopic(topic_id=topic_id, partitions=[])
            topics[topic_id].partitions.append(index)
        return list(topics.values())
