"""Our own client as a driver: the operations of a run.

It counts its tries, so it knows more than a library tells: a send that it calls failed was refused
each time it was sent. Network, clocks and randomness are given, and time-outs are the running
loop's: in the simulator (harness/sim/sim_client.py) time is virtual, on sockets
(harness/native/on_sockets.py) it is real.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, TypeVar

from broker.network.interface import Address, Network
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.compression import Codec
from broker.protocol.errors import ErrorCode
from harness.client.base import ClientSettings as RunSettings
from harness.client.driver import (
    Driver,
    DriverError,
    Place,
    Polled,
    Positions,
    Stored,
    ToStore,
    Whole,
)
from harness.client.group_driver import (
    Committed,
    GroupDriver,
    Membership,
    Notice,
    Subscription,
)
from harness.client.outcomes import Mode
from harness.client.partitioners import OTHERS
from harness.client.traffic import Traffic
from harness.client.transactions_driver import ProducerIdentity
from harness.errors import EnvironmentFailure
from harness.native.batches import batches_of
from harness.native.client import Client
from harness.native.driver_errors import driver_error
from harness.native.errors import BrokerError, ClientError, check
from harness.native.membership import NativeMembership
from harness.native.partition_sender import ACKS_ALL, ACKS_LEADER, ACKS_NONE, ProducerSettings
from harness.native.partitions import PartitionChoice
from harness.native.produce_queue import NO_OFFSET, Delivered, Failed
from harness.native.produce_queue import Outcome as BatchOutcome
from harness.native.producer import Producer
from harness.native.reader import READ_COMMITTED, READ_UNCOMMITTED, FetchSettings
from harness.native.reading import Reading
from harness.native.request_log import RequestLog
from harness.native.settings import ClientSettings
from harness.native.transaction_requests import GroupClaim
from harness.native.transactions import NativeTransactions, Submit
from harness.native.versions import versions_of

_T = TypeVar("_T")

_ACKS = {"0": ACKS_NONE, "1": ACKS_LEADER, "all": ACKS_ALL}
_TOPIC_RESOURCE = 2
_OWN_SETTING = 1
"""DYNAMIC_TOPIC_CONFIG, of Kafka's sources of settings."""
FETCH_AT_ONCE = FetchSettings(max_wait_s=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a driver is given, so that it runs in a simulation as on real sockets."""

    network: Network
    random: Random
    """For back-offs and for the first node to ask."""
    now_ms: Callable[[], int]
    """Clock that records are stamped by, in ms since 1970."""
    now_ns: Callable[[], int]
    """Clock of the history."""
    fetch: FetchSettings = FETCH_AT_ONCE
    """How polls fetch; the isolation level is the run's."""
    requests: RequestLog | None = None
    auto_commit_s: float | None = None
    """Time between automatic commits; None has commits in the background instead of them."""


class NativeDriver:
    def __init__(self, surroundings: Surroundings, settings: RunSettings, client_id: str) -> None:
        self.mode = Mode(settings.acks, settings.enable_idempotence, settings.retries != 0)
        self._surroundings = surroundings
        self._settings = settings
        self._client_id = client_id
        self.partitioner = OTHERS[settings.batching.partitioner]
        self._client: Client | None = None
        self._claim: GroupClaim | None = None

    async def open(self) -> None:
        settings, given = self._settings, self._surroundings
        poll_s, patience_s = settings.poll_ms / 1000, settings.delivery_timeout_ms / 1000
        self._client = Client(
            given.network,
            [_address(each) for each in settings.bootstrap.split(",") if each],
            random=given.random,
            now_ms=given.now_ms,
            settings=self._client_settings(),
        )
        self._producer: Producer = self._client.producer(self._producer_settings())
        isolation = (
            READ_COMMITTED if settings.isolation_level == "read_committed" else READ_UNCOMMITTED
        )
        fetch = replace(given.fetch, isolation=isolation)
        self._reading = Reading(self._client.reader(), fetch, poll_s=poll_s, patience_s=patience_s)
        self._group = NativeMembership(
            self._client,
            fetch,
            given.now_ns,
            poll_s=poll_s,
            auto_commit_s=given.auto_commit_s,
        )
        self._transactions = NativeTransactions(self._client, self._transactional_settings)
        self._choice = PartitionChoice(
            self._client, self.partitioner, settings.metadata_max_age_ms / 1000
        )

    def _client_settings(self) -> ClientSettings:
        request_s = self._settings.request_timeout_ms / 1000
        patience_s = self._settings.delivery_timeout_ms / 1000
        return ClientSettings(
            client_id=self._client_id,
            requests=self._surroundings.requests,
            versions=versions_of(
                self._settings.protocol_versions, self._settings.seed, self._client_id
            ),
            connect_timeout_s=request_s,
            request_timeout_s=request_s,
            metadata_timeout_s=request_s,
            call_timeout_s=patience_s,
            delivery_timeout_s=patience_s,
        )

    def _producer_settings(self) -> ProducerSettings:
        settings = self._settings
        try:
            return ProducerSettings(
                acks=_ACKS[settings.acks],
                idempotent=settings.enable_idempotence,
                retries=settings.retries,
                codec=Codec[settings.batching.codec.upper()],
            )
        except ValueError as error:
            raise EnvironmentFailure(f"client {self._client_id} cannot be made: {error}") from None

    def _transactional_settings(self) -> ProducerSettings:
        """Whatever the run says of acks: a transaction needs a producer id and all replicas."""
        return replace(self._producer_settings(), acks=ACKS_ALL, idempotent=True)

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            self._reading.close()
            await self._group.stop()
            await client.close()

    # Writing

    async def produce(self, records: Sequence[ToStore]) -> list[Stored | DriverError]:
        return await self._produced(records, self._producer.submit)

    async def _produced(
        self, records: Sequence[ToStore], submit: Submit
    ) -> list[Stored | DriverError]:
        batching = self._settings.batching
        if batching.linger_ms:
            await asyncio.sleep(batching.linger_ms / 1000)
        ends: dict[int, Stored | DriverError] = {}
        placed: dict[int, ToStore] = {}
        for at, record in enumerate(await self._choice.placed(records)):
            if isinstance(record, ClientError):
                told = driver_error(record)
                ends[at] = DriverError(told.name, told.message, harmless=True)
            else:
                placed[at] = record
        batches = batches_of(placed, batching.batch_bytes)
        under_way = [
            submit(
                place.topic,
                place.partition,
                [(placed[at].key, placed[at].payload) for at in ats],
                timestamps_ms=[placed[at].timestamp_ms for at in ats],
            )
            for place, ats in batches
        ]
        for (place, ats), outcome in zip(batches, under_way, strict=True):
            ends |= zip(ats, self._ends_of(place, len(ats), await outcome), strict=True)
        return [ends[at] for at in range(len(records))]

    async def partitions_of(self, topic: str) -> int:
        return await _told(self._choice.count(topic))

    def traffic(self) -> Traffic:
        traffic = self._producer.meter.take()
        traffic.add(self._transactions.traffic())
        return traffic

    def _ends_of(
        self, place: Place, count: int, outcome: BatchOutcome
    ) -> list[Stored | DriverError]:
        """The end of each record of one batch: a batch is written as a whole or not at all."""
        if not isinstance(outcome, Delivered):
            name = "NETWORK_EXCEPTION" if outcome.error is None else outcome.error.name
            is_certain, partition = isinstance(outcome, Failed), place.partition
            error = DriverError(name, outcome.reason, harmless=is_certain, partition=partition)
            return [error] * count
        leader = None if outcome.node_id is None else f"n{outcome.node_id}"
        if outcome.offset == NO_OFFSET:
            return [Stored(None, leader, place.partition)] * count
        return [Stored(outcome.offset + at, leader, place.partition) for at in range(count)]

    # Reading

    async def assign(self, positions: Positions) -> None:
        self._reading.assign(positions)

    async def poll(self) -> Polled:
        return await self._reading.poll()

    async def read_all(self, place: Place) -> Whole:
        return await self._reading.read_all(place)

    async def end_offsets(self, keys: Sequence[str]) -> dict[str, dict[str, int]]:
        return await self._reading.end_offsets(keys)

    # A member of a group

    async def subscribe(self, subscription: Subscription) -> Subscription:
        return await self._group.subscribe(subscription)

    async def leave(self) -> None:
        await self._group.leave()

    def membership(self) -> Membership:
        return self._group.membership()

    async def poll_group(self) -> Polled:
        return await self._group.poll()

    async def commit(self, offsets: Mapping[str, int]) -> None:
        await self._group.commit(offsets)

    def commit_later(self, offsets: Mapping[str, int]) -> None:
        self._group.commit_later(offsets)

    async def committed(self, keys: Sequence[str]) -> dict[str, int | None]:
        return await self._group.committed(keys)

    def notices(self) -> list[Notice]:
        return self._group.notices()

    def committed_since(self) -> list[Committed]:
        return self._group.committed_since()

    # Transactions

    async def init_transactions(self, transactional_id: str, timeout_ms: int) -> None:
        await self._transactions.init(transactional_id, timeout_ms)

    async def fence(self, transactional_id: str, timeout_ms: int) -> None:
        await self._transactions.fence(transactional_id, timeout_ms)

    def producer_identity(self) -> ProducerIdentity:
        return self._transactions.identity()

    async def begin_transaction(self) -> None:
        # As whom the inputs were polled. A generation that begins meanwhile may have given them to
        # another member, and then its coordinator refuses this one's offsets (KIP-447).
        self._claim = self._group.claim() if self._group.is_member else None
        self._transactions.begin()

    async def produce_in_transaction(
        self, records: Sequence[ToStore]
    ) -> list[Stored | DriverError]:
        return await self._produced(records, self._transactions.producer.submit)

    async def send_offsets(self, offsets: Mapping[str, int]) -> None:
        assert self._claim is not None, "offsets are those of a member"
        await self._transactions.send_offsets(offsets, self._claim)

    async def commit_transaction(self) -> None:
        await self._transactions.commit()

    async def abort_transaction(self) -> None:
        await self._transactions.abort()

    # Administration

    async def create_topic(
        self, topic: str, partitions: int, replication_factor: int, configs: Mapping[str, str]
    ) -> None:
        admin = self._known.admin
        await _told(
            admin.create_topic(
                topic,
                partitions=partitions,
                replication_factor=replication_factor,
                configs=configs,
            )
        )

    async def create_partitions(self, topic: str, count: int) -> None:
        await _told(self._known.admin.create_partitions(topic, count))

    async def delete_topic(self, topic: str) -> None:
        await _told(self._known.admin.delete_topic(topic))

    async def alter_topic(self, topic: str, configs: Mapping[str, str | None]) -> None:
        await _told(self._known.admin.alter_topic(topic, configs))

    async def describe_topic(self, topic: str) -> dict[str, Any] | None:
        try:
            view = await self._known.admin.describe_topic(topic)
            configs = await self._own_settings(topic)
        except ClientError as error:
            if (
                isinstance(error, BrokerError)
                and error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            ):
                return None
            raise driver_error(error) from error
        return {"partitions": len(view.partitions), "configs": configs}

    async def _own_settings(self, topic: str) -> dict[str, str]:
        resource = m.DescribeConfigsResource(
            resource_type=_TOPIC_RESOURCE, resource_name=topic, configuration_keys=None
        )
        body = m.DescribeConfigsRequest(resources=[resource])
        answer = await self._known.ask_anyone(ApiKey.DESCRIBE_CONFIGS, body)
        (result,) = answer.results
        check(result.error_code, result.error_message, place=topic)
        own = [each for each in result.configs if each.config_source == _OWN_SETTING]
        return {each.name: each.value for each in sorted(own, key=lambda each: each.name)}

    @property
    def _known(self) -> Client:
        assert self._client is not None, "open it first"
        return self._client


async def _told(change: Awaitable[_T]) -> _T:
    try:
        return await change
    except ClientError as error:
        raise driver_error(error) from error


def _address(text: str) -> Address:
    host, _, port = text.rpartition(":")
    return Address(host, int(port))


def _check(driver: NativeDriver) -> tuple[Driver, GroupDriver]:
    """Static check: this class implements both protocols."""
    return driver, driver
