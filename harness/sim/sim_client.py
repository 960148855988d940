"""The simulator's own client as a driver: the operations of a run, in virtual time.

It counts its tries, so it knows more than a library tells: a send that it calls failed was refused
each time it was sent. Run it in a process of the simulation; the time-outs are the run's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, TypeVar

from broker.network.interface import Address
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
    Read,
    Stored,
    ToStore,
    Whole,
    place_of,
)
from harness.client.group_driver import (
    Committed,
    GroupDriver,
    Membership,
    Notice,
    Subscription,
)
from harness.client.kafka_client import KafkaClient
from harness.client.outcomes import Mode
from harness.client.partitioners import OTHERS
from harness.client.traffic import Traffic
from harness.errors import EnvironmentFailure
from harness.sim.client import Client
from harness.sim.client_errors import BrokerError, ClientError, OffsetOutOfRangeError, check
from harness.sim.client_partitions import PartitionChoice
from harness.sim.client_produce_queue import NO_OFFSET, Delivered, Failed
from harness.sim.client_produce_queue import Outcome as BatchOutcome
from harness.sim.client_producer import ACKS_ALL, ACKS_LEADER, ACKS_NONE, Producer, ProducerSettings
from harness.sim.client_reader import (
    EARLIEST,
    LATEST,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    FetchSettings,
    Reader,
)
from harness.sim.client_records import ReadRecord
from harness.sim.client_settings import ClientSettings
from harness.sim.clock import START_MS
from harness.sim.sim_batches import batches_of
from harness.sim.sim_errors import driver_error
from harness.sim.sim_group import SimMembership
from harness.sim.simulation import Simulation

_T = TypeVar("_T")

_ACKS = {"0": ACKS_NONE, "1": ACKS_LEADER, "all": ACKS_ALL}
_TOPIC_RESOURCE = 2
_OWN_SETTING = 1
"""DYNAMIC_TOPIC_CONFIG, of Kafka's sources of settings."""


class SimClient(KafkaClient):
    def __init__(
        self, simulation: Simulation, host: str, settings: RunSettings, client_id: str
    ) -> None:
        """`client_id` decides about the client's dice, so it must be nobody else's."""
        super().__init__(
            SimDriver(simulation, host, settings, client_id),
            now_ms=lambda: _now_ms(simulation),
            now_ns=lambda: simulation.loop.now_ns,
        )


def _now_ms(simulation: Simulation) -> int:
    """Clients have a clock that no fault touches."""
    return START_MS + int(simulation.now_s * 1000)


class SimDriver:
    def __init__(
        self, simulation: Simulation, host: str, settings: RunSettings, client_id: str
    ) -> None:
        self.mode = Mode(settings.acks, settings.enable_idempotence, settings.retries != 0)
        self._simulation = simulation
        self._host = host
        self._settings = settings
        self._client_id = client_id
        self.partitioner = OTHERS[settings.batching.partitioner]
        self._patience_s = settings.delivery_timeout_ms / 1000
        self._isolation = (
            READ_COMMITTED if settings.isolation_level == "read_committed" else READ_UNCOMMITTED
        )
        self._fetch = FetchSettings(isolation=self._isolation, max_wait_s=0.0)
        self._positions: dict[str, int | None] = {}
        self._turn = 0
        self._client: Client | None = None

    async def open(self) -> None:
        simulation, settings = self._simulation, self._settings
        request_s = settings.request_timeout_ms / 1000
        self._client = Client(
            simulation.network.of(self._host),
            [_address(each) for each in settings.bootstrap.split(",")],
            random=simulation.decisions.random("client", self._client_id),
            now_ms=lambda: _now_ms(simulation),
            settings=ClientSettings(
                client_id=self._client_id,
                connect_timeout_s=request_s,
                request_timeout_s=request_s,
                metadata_timeout_s=request_s,
                call_timeout_s=self._patience_s,
                delivery_timeout_s=self._patience_s,
            ),
        )
        self._producer: Producer = self._client.producer(self._producer_settings())
        self._reader: Reader = self._client.reader()
        self._group = SimMembership(
            self._client,
            self._fetch,
            lambda: simulation.loop.now_ns,
            poll_s=settings.poll_ms / 1000,
        )
        self._choice = PartitionChoice(
            self._client, self.partitioner, settings.metadata_max_age_ms / 1000
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

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await self._group.stop()
            await client.close()

    # Writing

    async def produce(self, records: Sequence[ToStore]) -> list[Stored | DriverError]:
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
            self._producer.submit(
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
        return self._producer.meter.take()

    def _ends_of(
        self, place: Place, count: int, outcome: BatchOutcome
    ) -> list[Stored | DriverError]:
        """The end of each record of one batch: a batch is written as a whole or not at all."""
        if not isinstance(outcome, Delivered):
            name = "NETWORK_EXCEPTION" if outcome.error is None else outcome.error.name
            is_certain, partition = isinstance(outcome, Failed), place.partition
            error = DriverError(name, outcome.reason, harmless=is_certain, partition=partition)
            return [error] * count
        leader = self._leader(place)
        if outcome.offset == NO_OFFSET:
            return [Stored(None, leader, place.partition)] * count
        return [Stored(outcome.offset + at, leader, place.partition) for at in range(count)]

    def _leader(self, place: Place) -> str | None:
        """As far as is known without asking; it has just answered."""
        topic = self._known.metadata.topic(place.topic)
        view = None if topic is None else topic.partitions.get(place.partition)
        return None if view is None or view.leader < 0 else f"n{view.leader}"

    # Reading

    async def assign(self, positions: Positions) -> None:
        self._positions = dict(positions)

    async def poll(self) -> Polled:
        """The first of the keys, each time beginning with another, that has something.

        One whose leader does not answer takes the rest of this poll's time, and no more.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._settings.poll_ms / 1000
        keys = list(self._positions)
        for _ in keys:
            self._turn += 1
            key = keys[self._turn % len(keys)]
            try:
                async with asyncio.timeout_at(deadline):
                    records = await self._fetched(key)
            except TimeoutError:
                return Polled()
            except ClientError as error:
                return Polled(error=driver_error(error))
            if records:
                return Polled({key: records})
        await asyncio.sleep(max(0.0, deadline - loop.time()))
        return Polled()

    async def _fetched(self, key: str) -> list[Read]:
        place = place_of(key)
        position = self._positions[key]
        if position is None:
            position = await self._offset(place, EARLIEST, READ_UNCOMMITTED)
        try:
            fetched = await self._reader.fetch(place.topic, place.partition, position, self._fetch)
        except OffsetOutOfRangeError:
            # auto.offset.reset=earliest, as librdkafka has it; a deposed leader answers otherwise.
            self._positions[key] = None
            return []
        self._positions[key] = fetched.next_offset
        return _reads(fetched.records)

    async def read_all(self, place: Place) -> Whole:
        found: list[Read] = []
        try:
            # An end that was told before the log lost its tail is never reached.
            async with asyncio.timeout(self._patience_s):
                return Whole(found, await self._read_into(found, place))
        except TimeoutError:
            raise DriverError("_TIMED_OUT", f"read {len(found)} records, not all of them") from None
        except ClientError as error:
            raise driver_error(error) from error

    async def _read_into(self, found: list[Read], place: Place) -> int:
        """Where the log ended, as it was told last."""
        position = await self._offset(place, EARLIEST, READ_UNCOMMITTED)
        end = await self._offset(place, LATEST, self._isolation)
        while position < end:
            fetched = await self._reader.fetch(place.topic, place.partition, position, self._fetch)
            position = fetched.next_offset
            found += _reads(fetched.records)
            committed = self._isolation == READ_COMMITTED
            told = fetched.last_stable_offset if committed else fetched.high_watermark
            end = max(end, told)
        return max(position, end)

    async def end_offsets(self, keys: Sequence[str]) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        asked = (
            ("low", EARLIEST, READ_UNCOMMITTED),
            ("stable", LATEST, READ_COMMITTED),
            ("high", LATEST, READ_UNCOMMITTED),
        )
        try:
            for name, at, isolation in asked:
                found[name] = {
                    key: await self._offset(place_of(key), at, isolation) for key in keys
                }
        except ClientError as error:
            raise driver_error(error) from error
        return found

    async def _offset(self, place: Place, at: int, isolation: int) -> int:
        found = await self._reader.list_offset(
            place.topic, place.partition, at, isolation=isolation
        )
        return found.offset

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


def _reads(records: Sequence[ReadRecord]) -> list[Read]:
    return [Read(each.offset, each.key, each.value, each.timestamp_ms) for each in records]


async def _told(change: Awaitable[_T]) -> _T:
    try:
        return await change
    except ClientError as error:
        raise driver_error(error) from error


def _address(text: str) -> Address:
    host, _, port = text.rpartition(":")
    return Address(host, int(port))


def _check(driver: SimDriver) -> tuple[Driver, GroupDriver]:
    """Static check: this class implements both protocols."""
    return driver, driver
