"""aiokafka as a driver: a client that shares no code with librdkafka.

Its parts start when they are first needed, because they connect when they start. It has no setting
for retries: it sends again until its time is up, and with idempotence for ever. It names no leader
epoch when it fetches, so a leader that was deposed may tell it that its offset is out of range.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError, OffsetOutOfRangeError

from harness.client.aiokafka_admin import AiokafkaAdmin
from harness.client.aiokafka_group import AiokafkaMember, group_arguments, possible
from harness.client.aiokafka_producer import AiokafkaProducing
from harness.client.aiokafka_settings import arguments, driver_error
from harness.client.aiokafka_transactions import AiokafkaTransactions
from harness.client.base import ClientSettings, IsolationLevel
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
from harness.client.traffic import Traffic
from harness.client.transactions_driver import TransactionDriver
from harness.errors import EnvironmentFailure

_T = TypeVar("_T")

_POLLED_MAX = 500

# Whoever runs the client says where its log goes; by itself it is silent.
logging.getLogger("aiokafka").addHandler(logging.NullHandler())


class AiokafkaClient(KafkaClient):
    def __init__(self, settings: ClientSettings, client_id: str) -> None:
        super().__init__(AiokafkaDriver(settings, client_id))


class AiokafkaDriver(AiokafkaTransactions):
    def __init__(self, settings: ClientSettings, client_id: str) -> None:
        self.mode = Mode(settings.acks, settings.enable_idempotence, retries=True)
        common = {
            "bootstrap_servers": settings.bootstrap,
            "client_id": client_id,
            "metadata_max_age_ms": settings.metadata_max_age_ms,
        }
        super().__init__(settings, common)
        self._patience_s = settings.delivery_timeout_ms / 1000
        self._producing = AiokafkaProducing(settings, self._common)
        self.partitioner = self._producing.partitioner
        self._consumer: AIOKafkaConsumer | None = None
        self._readers: dict[IsolationLevel, AIOKafkaConsumer] = {}
        self._admin: AiokafkaAdmin | None = None
        self._positions: Positions = {}
        self._member: AiokafkaMember | None = None
        self._left: AiokafkaMember | None = None
        """The member that has just left: what came up until then is still to be recorded."""

    async def open(self) -> None:
        """Only looks at the settings: the library connects later, and may have to wait for that."""
        if self._settings.retries is not None:
            raise EnvironmentFailure("aiokafka has no setting for retries; try --client confluent")
        try:
            for make in (self._producing.made, self._made_consumer):
                # It was never started, so there is nothing to be stopped.
                make()._closed = True
        except (TypeError, ValueError) as error:
            raise EnvironmentFailure(f"an aiokafka client cannot be made: {error}") from error

    async def close(self) -> None:
        await self._producing.close()
        await self.drop_transactions()
        await self.leave()
        consumers = [each for each in (self._consumer, *self._readers.values()) if each is not None]
        self._consumer = None
        self._readers.clear()
        for consumer in consumers:
            await _stop(consumer)
        admin, self._admin = self._admin, None
        if admin is not None:
            await admin.close()

    # Writing

    async def produce(self, records: Sequence[ToStore]) -> list[Stored | DriverError]:
        return await self._producing.produce(records)

    def traffic(self) -> Traffic:
        return self._producing.traffic()

    # Reading

    async def assign(self, positions: Positions) -> None:
        self._positions = dict(positions)
        if self._consumer is not None:
            _put_to(self._consumer, self._positions)

    async def poll(self) -> Polled:
        try:
            if self._consumer is None:
                self._consumer = await self._started_consumer(self._settings.isolation_level)
                _put_to(self._consumer, self._positions)
            found = await self._consumer.getmany(
                timeout_ms=self._settings.poll_ms, max_records=_POLLED_MAX
            )
        except OffsetOutOfRangeError as error:
            return await self._moved_on(error)
        except KafkaError as error:
            return Polled(error=driver_error(error))
        except DriverError as error:
            return Polled(error=error)
        polled = _polled(found)
        polled.reached = self._reached(self._consumer)
        return polled

    def _reached(self, consumer: AIOKafkaConsumer) -> dict[str, int]:
        """Where it goes on, if that is the end of what it may read: beyond the last record there
        may be markers."""
        found = {}
        for where in consumer.assignment():
            state = consumer._subscription.subscription.assignment.state_value(where)
            if state.has_valid_position and state.position == self._told_end(consumer, where):
                found[f"{where.topic}-{where.partition}"] = state.position
        return found

    async def _moved_on(self, error: OffsetOutOfRangeError) -> Polled:
        """To where the log begins, if that is further on. Never back: whoever is beyond the end of
        a leader that was deposed waits there for the next one."""
        consumer = self._consumer
        assert consumer is not None, "it was polled"
        asked: dict[TopicPartition, int] = error.args[0]
        try:
            begins = await consumer.beginning_offsets(list(asked))
        except KafkaError as silence:
            return Polled(error=driver_error(silence))
        behind = [where for where, offset in asked.items() if offset < begins[where]]
        for where in behind:
            consumer.seek(where, begins[where])
        return Polled() if behind else Polled(error=driver_error(error))

    async def read_all(self, place: Place) -> Whole:
        reader = await self._reader(self._settings.isolation_level)
        where = TopicPartition(place.topic, place.partition)
        found: list[Read] = []
        try:
            async with asyncio.timeout(self._patience_s):
                begin = (await reader.beginning_offsets([where]))[where]
                end = (await reader.end_offsets([where]))[where]
                reader.assign([where])
                reader.seek(where, begin)
                while await reader.position(where) < end:
                    batches = await reader.getmany(where, timeout_ms=self._settings.poll_ms)
                    found += [_read(each) for each in batches.get(where, ())]
                    end = max(end, self._told_end(reader, where))
        except TimeoutError:
            raise DriverError("_TIMED_OUT", f"read {len(found)} records, not all of them") from None
        except KafkaError as error:
            raise driver_error(error) from error
        # A leader that was deposed may have been asked last, and tell less than was read.
        return Whole(found, max(end, found[-1].offset + 1) if found else end)

    def _told_end(self, reader: AIOKafkaConsumer, where: TopicPartition) -> int:
        """By the last answer to a fetch; None before the first."""
        if self._settings.isolation_level == "read_committed":
            return reader.last_stable_offset(where) or 0
        return reader.highwater(where) or 0

    async def end_offsets(self, keys: Sequence[str]) -> dict[str, dict[str, int]]:
        by_place = {_partition(key): key for key in keys}
        uncommitted = await self._reader("read_uncommitted")
        committed = await self._reader("read_committed")
        try:
            low = await uncommitted.beginning_offsets(list(by_place))
            stable = await committed.end_offsets(list(by_place))
            high = await uncommitted.end_offsets(list(by_place))
        except KafkaError as error:
            raise driver_error(error) from error
        return {
            name: {by_place[where]: offset for where, offset in found.items()}
            for name, found in (("low", low), ("stable", stable), ("high", high))
        }

    async def _reader(self, isolation: IsolationLevel) -> AIOKafkaConsumer:
        if isolation not in self._readers:
            self._readers[isolation] = await self._started_consumer(isolation)
        return self._readers[isolation]

    def _made_consumer(
        self, isolation: IsolationLevel | None = None, more: Mapping[str, Any] | None = None
    ) -> AIOKafkaConsumer:
        settings = self._settings
        return AIOKafkaConsumer(
            **{
                **self._common,
                "group_id": None,
                "auto_offset_reset": "none",
                "request_timeout_ms": settings.delivery_timeout_ms,
                "fetch_max_wait_ms": settings.poll_ms,
                **arguments(AIOKafkaConsumer, settings.consumer_config),
                "isolation_level": isolation or settings.isolation_level,
                **(more or {}),
            }
        )

    async def _started_consumer(self, isolation: IsolationLevel) -> AIOKafkaConsumer:
        consumer = self._made_consumer(isolation)
        await self._start(consumer)
        return consumer

    async def _start(self, consumer: AIOKafkaConsumer) -> None:
        try:
            async with asyncio.timeout(self._patience_s):
                await consumer.start()
        except BaseException as error:
            await _stop(consumer)
            if isinstance(error, TimeoutError):
                raise DriverError("_TIMED_OUT", "no node answered in time") from None
            if isinstance(error, KafkaError):
                raise driver_error(error) from error
            raise

    # A member of a group

    async def subscribe(self, subscription: Subscription) -> Subscription:
        await self.leave()
        done = possible(subscription)
        consumer = self._made_consumer(more=group_arguments(done))
        await self._start(consumer)
        self._member = AiokafkaMember(consumer, done)
        return done

    async def leave(self) -> None:
        member, self._member = self._member, None
        if member is not None:
            member.stop_commits()
            await _stop(member.consumer)
            self._left = member

    def membership(self) -> Membership:
        return Membership() if self._member is None else self._member.membership()

    async def poll_group(self) -> Polled:
        try:
            found = await self._joined().consumer.getmany(
                timeout_ms=self._settings.poll_ms, max_records=_POLLED_MAX
            )
        except KafkaError as error:
            return Polled(error=driver_error(error))
        return _polled(found)

    async def commit(self, offsets: Mapping[str, int]) -> None:
        await self._in_time(self._joined().commit(offsets))

    def commit_later(self, offsets: Mapping[str, int]) -> None:
        self._joined().commit_later(offsets)

    async def committed(self, keys: Sequence[str]) -> dict[str, int | None]:
        return await self._in_time(self._joined().committed(keys))

    def notices(self) -> list[Notice]:
        return [each for member in self._members() for each in member.take_notices()]

    def committed_since(self) -> list[Committed]:
        found = [each for member in self._members() for each in member.take_committed()]
        self._left = None
        return found

    def _members(self) -> list[AiokafkaMember]:
        return [each for each in (self._left, self._member) if each is not None]

    def group_name(self) -> str:
        return self._joined().group

    def _joined(self) -> AiokafkaMember:
        if self._member is None:
            raise DriverError("_STATE", "the client has not subscribed", harmless=True)
        return self._member

    # Administration

    async def create_topic(
        self, topic: str, partitions: int, replication_factor: int, configs: Mapping[str, str]
    ) -> None:
        admin = await self._administration()
        await self._in_time(admin.create_topic(topic, partitions, replication_factor, configs))

    async def create_partitions(self, topic: str, count: int) -> None:
        await self._in_time((await self._administration()).create_partitions(topic, count))

    async def partitions_of(self, topic: str) -> int:
        return await self._in_time(self._producing.partitions_of(topic))

    async def delete_topic(self, topic: str) -> None:
        await self._in_time((await self._administration()).delete_topic(topic))

    async def alter_topic(self, topic: str, configs: Mapping[str, str | None]) -> None:
        await self._in_time((await self._administration()).alter_topic(topic, configs))

    async def describe_topic(self, topic: str) -> dict[str, Any] | None:
        return await self._in_time((await self._administration()).describe_topic(topic))

    async def _administration(self) -> AiokafkaAdmin:
        if self._admin is None:
            admin = AiokafkaAdmin(self._common, self._settings.delivery_timeout_ms)
            try:
                await self._in_time(admin.start())
            except DriverError as error:
                await admin.close()
                raise DriverError(error.name, error.message, harmless=True) from error
            self._admin = admin
        return self._admin

    async def _in_time(self, call: Awaitable[_T]) -> _T:
        try:
            async with asyncio.timeout(self._patience_s):
                return await call
        except TimeoutError:
            raise DriverError("_TIMED_OUT", "no answer in time") from None
        except KafkaError as error:
            raise driver_error(error) from error


async def _stop(consumer: AIOKafkaConsumer) -> None:
    """aiokafka ends at the first of its fetches that was cancelled; the others are ended here."""
    await asyncio.gather(asyncio.ensure_future(consumer.stop()), return_exceptions=True)
    fetches = list(consumer._fetcher._pending_tasks) if consumer._fetcher is not None else []
    for fetch in fetches:
        fetch.cancel()
    await asyncio.gather(*fetches, return_exceptions=True)
    await consumer._client.close()


def _put_to(consumer: AIOKafkaConsumer, positions: Positions) -> None:
    """Both at once: where the loop ran between the two, it would complain of a missing position."""
    where = {_partition(key): key for key in positions}
    consumer.assign(list(where))
    for each, key in where.items():
        consumer.seek(each, positions[key] or 0)


def _partition(key: str) -> TopicPartition:
    place = place_of(key)
    return TopicPartition(place.topic, place.partition)


def _polled(found: Mapping[TopicPartition, Sequence[Any]]) -> Polled:
    return Polled(
        {
            f"{where.topic}-{where.partition}": [_read(each) for each in records]
            for where, records in found.items()
        }
    )


def _read(record: Any) -> Read:
    known = record.timestamp if record.timestamp is not None and record.timestamp >= 0 else None
    return Read(record.offset, record.key, record.value, known)


def _check(driver: AiokafkaDriver) -> tuple[Driver, GroupDriver, TransactionDriver]:
    """Static check: this class implements the three protocols."""
    return driver, driver, driver
