"""The reading side: records from an offset on, and what offsets there are.

Every fetch is a full one and names one partition, so that one answer says one thing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from broker.network.interface import Address
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from broker.protocol.schema import ZERO_UUID
from harness.native.connection import BrokerConnection
from harness.native.errors import (
    BrokerError,
    DivergingEpochError,
    OffsetOutOfRangeError,
    check,
)
from harness.native.metadata import Leader
from harness.native.read_committed import AbortedTransaction, without_aborted
from harness.native.records import ReadBatch, ReadRecord, read_batches

if TYPE_CHECKING:
    from harness.native.client import Client

READ_UNCOMMITTED = 0
READ_COMMITTED = 1

LATEST = -1
EARLIEST = -2

_LAST_FETCH_BY_NAME = 12
_FIRST_FETCH_WITH_EPOCH = 9
_FIRST_FETCH_OF_ZSTD = 10
_FIRST_LIST_OF_STABLE = 2
_NO_EPOCH = -1
_CONSUMER = -1
_NO_SESSION_EPOCH = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSettings:
    isolation: int = READ_UNCOMMITTED
    node: int | None = None
    """Whom to ask; None for the leader. A follower serves up to its own high watermark."""
    max_wait_s: float = 0.5
    min_bytes: int = 1
    max_bytes: int = 1 << 20
    last_fetched_epoch: int = _NO_EPOCH
    """Of the record before the offset. A leader that disagrees answers with a diverging epoch."""
    timeout_s: float | None = None
    rack: str = ""
    polled_max: int | None = None
    """Most records that one poll returns, `max.poll.records`; None for all that were fetched."""
    outlives_poll: bool = False
    """Whether a fetch goes on when its poll is over, for the next poll of the same offset."""


DEFAULT_FETCH = FetchSettings()


@dataclass(frozen=True, slots=True)
class Fetched:
    """At read_committed without the records of aborted transactions; their batches are listed."""

    batches: tuple[ReadBatch, ...]
    next_offset: int
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted: tuple[AbortedTransaction, ...]
    preferred_node: int
    """A follower nearer to the reader, or -1."""

    @property
    def records(self) -> list[ReadRecord]:
        return [record for batch in self.batches for record in batch.records]


class OffsetFound(NamedTuple):
    """-1 and -1 when no record is as young as the timestamp asked for."""

    offset: int
    timestamp_ms: int
    leader_epoch: int


class EpochEnd(NamedTuple):
    """The largest epoch that is not above the one asked for, and the offset after its last."""

    epoch: int
    end_offset: int


class Reader:
    """Made by `Client.reader`."""

    def __init__(self, client: Client, lane: str) -> None:
        self._client = client
        self._lane = lane
        self._fetch_at_least = 0

    async def fetch(
        self, topic: str, partition: int, offset: int, settings: FetchSettings = DEFAULT_FETCH
    ) -> Fetched:
        """Tries again until the time is up, except where the offset itself is at fault.

        A node that was asked for by name and refuses is not asked again: choose another.
        """

        async def attempt() -> Fetched:
            return await self._fetch_once(topic, partition, offset, settings)

        if settings.node is not None:
            return await attempt()
        return await self._client.retried(attempt, settings.timeout_s)

    async def list_offset(
        self, topic: str, partition: int, at: int, *, isolation: int = READ_UNCOMMITTED
    ) -> OffsetFound:
        """`at` is EARLIEST, LATEST, or a time in ms: the first record that is not older."""

        async def attempt() -> OffsetFound:
            return await self._list_once(topic, partition, at, isolation)

        return await self._client.retried(attempt)

    async def end_of_epoch(self, topic: str, partition: int, epoch: int) -> EpochEnd:
        async def attempt() -> EpochEnd:
            return await self._end_once(topic, partition, epoch)

        return await self._client.retried(attempt)

    async def _connection(self, node_id: int) -> BrokerConnection:
        return await self._client.nodes.connection(node_id, self._lane)

    async def _fetch_once(
        self, topic: str, partition: int, offset: int, settings: FetchSettings
    ) -> Fetched:
        leader = await self._client.metadata.leader(topic, partition)
        node_id = leader.node_id if settings.node is None else settings.node
        connection = await self._connection(node_id)
        topic_id = self._client.metadata.topic_id(topic)
        version = self._fetch_version(connection, topic_id)
        part = m.FetchPartition(
            partition=partition,
            current_leader_epoch=leader.epoch,
            fetch_offset=offset,
            last_fetched_epoch=settings.last_fetched_epoch,
            partition_max_bytes=settings.max_bytes,
        )
        body = m.FetchRequest(
            replica_id=_CONSUMER,
            max_wait_ms=int(settings.max_wait_s * 1000),
            min_bytes=settings.min_bytes,
            max_bytes=settings.max_bytes,
            isolation_level=settings.isolation,
            session_epoch=_NO_SESSION_EPOCH,
            topics=[m.FetchTopic(topic=topic, topic_id=topic_id, partitions=[part])],
            rack_id=settings.rack,
        )
        timeout_s = settings.max_wait_s + self._client.settings.request_timeout_s
        answer = await connection.ask(ApiKey.FETCH, version, body, timeout_s)
        place = f"{topic}-{partition} on node {node_id}"
        check(answer.error_code, place=place)
        (answered,) = answer.responses
        (data,) = answered.partitions
        self._learn_leader(topic, partition, data, answer)
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            is_fenced = version >= _FIRST_FETCH_WITH_EPOCH and leader.epoch >= 0
            raise OffsetOutOfRangeError(place, offset, is_fenced=is_fenced)
        if data.error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE:
            self._fetch_at_least = _FIRST_FETCH_OF_ZSTD
        return _fetched(data, offset, place, settings.isolation)

    def _fetch_version(self, connection: BrokerConnection, topic_id: bytes) -> int:
        at_least = self._fetch_at_least
        if topic_id == ZERO_UUID:
            return connection.version_of(
                ApiKey.FETCH, at_least=at_least, at_most=_LAST_FETCH_BY_NAME
            )
        return connection.version_of(ApiKey.FETCH, at_least=at_least)

    def _learn_leader(
        self,
        topic: str,
        partition: int,
        data: m.FetchResponsePartitionData,
        answer: m.FetchResponse,
    ) -> None:
        if data.current_leader is None:
            return
        leader = Leader(data.current_leader.leader_id, data.current_leader.leader_epoch)
        addresses = {each.node_id: Address(each.host, each.port) for each in answer.node_endpoints}
        self._client.metadata.learn_leader(topic, partition, leader, addresses)

    async def _list_once(self, topic: str, partition: int, at: int, isolation: int) -> OffsetFound:
        leader = await self._client.metadata.leader(topic, partition)
        part = m.ListOffsetsPartition(
            partition_index=partition, current_leader_epoch=leader.epoch, timestamp=at
        )
        timeout_s = self._client.settings.request_timeout_s
        body = m.ListOffsetsRequest(
            replica_id=_CONSUMER,
            isolation_level=isolation,
            topics=[m.ListOffsetsTopic(name=topic, partitions=[part])],
            timeout_ms=int(timeout_s * 1000),
        )
        answer = await self._client.nodes.ask(
            leader.node_id,
            ApiKey.LIST_OFFSETS,
            body,
            lane=self._lane,
            at_least=0 if isolation == READ_UNCOMMITTED else _FIRST_LIST_OF_STABLE,
        )
        (found,) = answer.topics[0].partitions
        check(found.error_code, place=f"{topic}-{partition} on node {leader.node_id}")
        return OffsetFound(found.offset, found.timestamp, found.leader_epoch)

    async def _end_once(self, topic: str, partition: int, epoch: int) -> EpochEnd:
        leader = await self._client.metadata.leader(topic, partition)
        part = m.OffsetForLeaderPartition(
            partition=partition, current_leader_epoch=leader.epoch, leader_epoch=epoch
        )
        body = m.OffsetForLeaderEpochRequest(
            replica_id=_CONSUMER, topics=[m.OffsetForLeaderTopic(topic=topic, partitions=[part])]
        )
        answer = await self._client.nodes.ask(
            leader.node_id, ApiKey.OFFSET_FOR_LEADER_EPOCH, body, lane=self._lane
        )
        (found,) = answer.topics[0].partitions
        check(found.error_code, place=f"{topic}-{partition} on node {leader.node_id}")
        return EpochEnd(found.leader_epoch, found.end_offset)


def _fetched(
    data: m.FetchResponsePartitionData, offset: int, place: str, isolation: int
) -> Fetched:
    if data.error_code != ErrorCode.NONE:
        raise BrokerError(data.error_code, place=place)
    if data.diverging_epoch is not None:
        raise DivergingEpochError(
            place, data.diverging_epoch.epoch, data.diverging_epoch.end_offset
        )
    batches = tuple(read_batches(data.records, offset))
    aborted = tuple(
        AbortedTransaction(each.producer_id, each.first_offset)
        for each in data.aborted_transactions or ()
    )
    if isolation == READ_COMMITTED:
        batches = without_aborted(batches, aborted)
    return Fetched(
        batches=batches,
        next_offset=batches[-1].header.last_offset + 1 if batches else offset,
        high_watermark=data.high_watermark,
        last_stable_offset=data.last_stable_offset,
        log_start_offset=data.log_start_offset,
        aborted=aborted,
        preferred_node=data.preferred_read_replica,
    )
