"""confluent-kafka (librdkafka) as a driver. Calls block: a worker process has one client only.

Import it where it is needed: the library is heavy.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from confluent_kafka import (
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from harness.client.base import ClientSettings
from harness.client.confluent_admin import ConfluentAdmin
from harness.client.confluent_group import NOT_A_MEMBER, ConfluentMember
from harness.client.confluent_sends import Burst, Patience, Portions
from harness.client.confluent_transactions import ConfluentTransactions
from harness.client.driver import (
    ANY_PARTITION,
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
from harness.client.librdkafka import (
    LOGGER,
    admin_config,
    consumer_config,
    driver_error,
    partitioner_name,
    producer_config,
    refused_config,
)
from harness.client.librdkafka_stats import INTERVAL_MS, traffic_from
from harness.client.outcomes import Mode
from harness.client.partitioners import CUSTOM, by_number
from harness.client.traffic import Traffic
from harness.client.transactions_driver import TransactionDriver

_POLLED_MAX = 500
"""As many as Kafka's own consumer hands over at once."""
_GRACE_S = 2.0
"""For the reports of dropped records, which come at once."""
_END_WAIT_MS = 5


class ConfluentClient(KafkaClient):
    def __init__(self, settings: ClientSettings, client_id: str) -> None:
        super().__init__(ConfluentDriver(settings, client_id))


class ConfluentDriver(ConfluentTransactions):
    def __init__(self, settings: ClientSettings, client_id: str) -> None:
        super().__init__(settings, client_id)
        # With retries=0 librdkafka still sends again what a broker answers with NOT_LEADER; only
        # with acks=all can such an answer come after the append.
        retries = settings.retries != 0 or settings.acks == "all"
        self.mode = Mode(settings.acks, settings.enable_idempotence, retries)
        self.partitioner = partitioner_name(settings)
        self._counts: dict[str, tuple[float, int]] = {}
        """By topic when its partitions were counted, by the monotonic clock, and how many."""
        self._poll_s = settings.poll_ms / 1000
        self._patience_s = settings.delivery_timeout_ms / 1000
        self._producer: Producer | None = None
        self._portions: Portions | None = None
        self._traffic = Traffic()
        self._consumer: Consumer | None = None
        self._reader: Consumer | None = None
        self._admin: ConfluentAdmin | None = None
        self._member: ConfluentMember | None = None
        self._left: ConfluentMember | None = None
        """The member that has just left: what came up until then is still to be told."""

    async def open(self) -> None:
        statistics = {"statistics.interval.ms": INTERVAL_MS, "stats_cb": self._measured}
        config = producer_config(self._settings, self._client_id)
        self._producer = self._made(Producer, {**statistics, **config})
        self._portions = Portions(config)
        reading = consumer_config(self._settings, self._client_id)
        # Markers and aborted records take offsets: without this nobody could tell the end of a log.
        self._consumer = self._made(Consumer, {"enable.partition.eof": True, **reading})

    async def close(self) -> None:
        """What is still queued or on its way is dropped; Producer.close would send it first."""
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.purge()
            producer.poll(0)
        self.drop_transactions()
        await self.leave()
        for consumer in (self._consumer, self._reader):
            if consumer is not None:
                consumer.close()
        self._consumer = self._reader = self._admin = None

    def _measured(self, statistics: str) -> None:
        self._traffic.add(traffic_from(statistics))

    def traffic(self) -> Traffic:
        if self._producer is not None:
            self._producer.poll(0)  # statistics wait in the producer's queue
        found, self._traffic = self._traffic, Traffic()
        return found

    def _made(self, kind: Callable[..., Any], config: Mapping[str, Any]) -> Any:
        try:
            return kind(config, logger=LOGGER)
        except (KafkaException, ValueError, TypeError) as error:
            raise refused_config(self._client_id, error) from error

    # Writing

    async def produce(self, records: Sequence[ToStore]) -> list[Stored | DriverError]:
        assert self._producer is not None, "open it first"
        assert self._portions is not None, "open it first"
        to_send, refused = self._placed(records)
        burst = Burst(self._producer, to_send, self._portions.of(to_send))
        patience = Patience(self._patience_s, self._patience_s + _GRACE_S, drops=True)
        return burst.send(refused, patience)

    def _placed(
        self, records: Sequence[ToStore]
    ) -> tuple[Sequence[ToStore], dict[int, DriverError]]:
        """The records with the partitions that our own partitioner chooses, and, by their number,
        those that have none because the partitions of their topic are unknown."""
        if self.partitioner != CUSTOM:
            return records, {}
        counts = self._counts_for(records)
        placed: list[ToStore] = []
        refused: dict[int, DriverError] = {}
        for at, record in enumerate(records):
            count = counts.get(record.place.topic)
            if isinstance(count, DriverError):
                refused[at] = count
            elif record.place.partition == ANY_PARTITION and count is not None:
                chosen = record.place._replace(partition=by_number(record.key or b"", count))
                record = record._replace(place=chosen)
            placed.append(record)
        return placed, refused

    def _counts_for(self, records: Sequence[ToStore]) -> dict[str, int | DriverError]:
        """Partitions of topics for our own partitioner: librdkafka takes none of Python.

        Records of a topic whose partitions nobody tells are not sent.
        """
        counts: dict[str, int | DriverError] = {}
        for place, *_ in records:
            if place.partition == ANY_PARTITION and place.topic not in counts:
                try:
                    counts[place.topic] = self._count(place.topic)
                except DriverError as error:
                    unsent = DriverError(error.name, error.message, harmless=True)
                    counts[place.topic] = unsent
        return counts

    async def partitions_of(self, topic: str) -> int:
        return self._count(topic)

    def _count(self, topic: str) -> int:
        counted_s, count = self._counts.get(topic, (0.0, 0))
        now_s = time.monotonic()
        if not count or now_s - counted_s > self._settings.metadata_max_age_ms / 1000:
            assert self._producer is not None, "open it first"
            try:
                found = self._producer.list_topics(topic, timeout=self._patience_s).topics[topic]
            except KafkaException as error:
                raise driver_error(error.args[0]) from error
            if found.error is not None:
                raise driver_error(found.error)
            count = len(found.partitions)
            self._counts[topic] = (now_s, count)
        return count

    # Reading

    async def assign(self, positions: Positions) -> None:
        assert self._consumer is not None, "open it first"
        # The beginning is asked for as 0. Where the log begins later that is out of range, and then
        # auto.offset.reset leads there; to look it up first costs librdkafka half a second.
        wanted = [
            TopicPartition(place.topic, place.partition, position or 0)
            for key, position in positions.items()
            for place in (place_of(key),)
        ]
        try:
            self._consumer.assign(wanted)
        except KafkaException as error:
            raise driver_error(error.args[0]) from error

    async def poll(self) -> Polled:
        assert self._consumer is not None, "open it first"
        return self._polled(self._consumer)

    def _polled(self, consumer: Consumer) -> Polled:
        polled = Polled()
        try:
            messages = _consume(consumer, self._poll_s)
        except KafkaException as error:
            polled.error = driver_error(error.args[0])
            return polled
        for message in messages:
            problem = message.error()
            if problem is None:
                _add(polled.records, message)
            elif problem.code() == KafkaError._PARTITION_EOF:
                _reach(polled.reached, message)
            elif polled.error is None:
                polled.error = driver_error(problem)
        return polled

    async def read_all(self, place: Place) -> Whole:
        if self._reader is None:
            config = consumer_config(self._settings, self._client_id)
            # The end of a log is told by a fetch that finds nothing, which need not wait for more.
            eager = {"enable.partition.eof": True, "fetch.wait.max.ms": _END_WAIT_MS}
            self._reader = self._made(Consumer, config | eager)
        reader, deadline = self._reader, time.monotonic() + self._patience_s
        try:
            where = TopicPartition(place.topic, place.partition)
            low, high = reader.get_watermark_offsets(where, timeout=self._patience_s)
            if low >= high:
                return Whole([], high)
            reader.assign([TopicPartition(place.topic, place.partition, low)])
            return _up_to(reader, low, high, deadline)
        except KafkaException as error:
            raise driver_error(error.args[0]) from error
        finally:
            reader.unassign()

    async def end_offsets(self, keys: Sequence[str]) -> dict[str, dict[str, int]]:
        return self._administration().end_offsets(keys)

    # A member of a group

    async def subscribe(self, subscription: Subscription) -> Subscription:
        await self.leave()
        config = consumer_config(self._settings, self._client_id)
        try:
            self._member = ConfluentMember(subscription, self._settings, config)
        except (KafkaException, ValueError, TypeError) as error:
            raise refused_config(self._client_id, error) from error
        return subscription

    async def leave(self) -> None:
        member, self._member = self._member, None
        if member is not None:
            member.close()
            self._left = member

    def membership(self) -> Membership:
        return Membership() if self._member is None else self._member.membership()

    async def poll_group(self) -> Polled:
        return self._polled(self._joined().consumer)

    async def commit(self, offsets: Mapping[str, int]) -> None:
        self._joined().commit(offsets)

    def commit_later(self, offsets: Mapping[str, int]) -> None:
        self._joined().commit_later(offsets)

    async def committed(self, keys: Sequence[str]) -> dict[str, int | None]:
        return self._joined().committed(keys)

    def notices(self) -> list[Notice]:
        return [each for member in self._members() for each in member.take_notices()]

    def committed_since(self) -> list[Committed]:
        found = [each for member in self._members() for each in member.take_committed()]
        self._left = None
        return found

    def _members(self) -> list[ConfluentMember]:
        return [each for each in (self._left, self._member) if each is not None]

    def group_consumer(self) -> Consumer:
        return self._joined().consumer

    def _joined(self) -> ConfluentMember:
        if self._member is None:
            raise NOT_A_MEMBER
        return self._member

    # Administration

    def _administration(self) -> ConfluentAdmin:
        if self._admin is None:
            config = admin_config(self._settings, self._client_id)
            self._admin = ConfluentAdmin(config, self._patience_s)
        return self._admin

    async def create_topic(
        self, topic: str, partitions: int, replication_factor: int, configs: Mapping[str, str]
    ) -> None:
        self._administration().create_topic(topic, partitions, replication_factor, configs)

    async def create_partitions(self, topic: str, count: int) -> None:
        self._administration().create_partitions(topic, count)

    async def delete_topic(self, topic: str) -> None:
        self._administration().delete_topic(topic)

    async def alter_topic(self, topic: str, configs: Mapping[str, str | None]) -> None:
        self._administration().alter_topic(topic, configs)

    async def describe_topic(self, topic: str) -> dict[str, Any] | None:
        return self._administration().describe_topic(topic)


def _consume(consumer: Consumer, within_s: float) -> list[Message]:
    """As soon as there is something; to ask for many at once would wait for many."""
    messages = consumer.consume(1, within_s)
    return messages and messages + consumer.consume(_POLLED_MAX - 1, 0)


def _add(records: dict[str, list[Read]], message: Message) -> None:
    offset = message.offset()
    assert offset is not None, "a record without an error has an offset"
    key = f"{message.topic()}-{message.partition()}"
    records.setdefault(key, []).append(_read(message, offset))


def _reach(reached: dict[str, int], message: Message) -> None:
    """The end of a log, which librdkafka tells once for each time that it gets there."""
    offset = message.offset()
    if offset is not None and offset >= 0:
        reached[f"{message.topic()}-{message.partition()}"] = offset


def _read(message: Message, offset: int) -> Read:
    kind, timestamp_ms = message.timestamp()
    known = None if kind == TIMESTAMP_NOT_AVAILABLE or timestamp_ms < 0 else timestamp_ms
    return Read(offset, message.key(), message.value(), known)


def _up_to(reader: Consumer, begin: int, end: int, deadline: float) -> Whole:
    """Until the log ends, at `end` or further on; or to `end`, if no record before it is gone."""
    found: list[Read] = []
    while True:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise DriverError("_TIMED_OUT", f"read {len(found)} records and not all up to {end}")
        for message in _consume(reader, left_s):
            problem, offset = message.error(), message.offset()
            assert offset is not None, "records and the end of a log have offsets"
            if problem is None:
                found.append(_read(message, offset))
                if offset + 1 == end and len(found) == end - begin:
                    return Whole(found, end)
            elif problem.code() != KafkaError._PARTITION_EOF:
                raise driver_error(problem)
            elif offset >= end:
                # A leader that was deposed may tell an end before this one; then it goes on.
                return Whole([read for read in found if read.offset < offset], offset)


def _check(driver: ConfluentDriver) -> tuple[Driver, GroupDriver, TransactionDriver]:
    """Static check: this class implements the three protocols."""
    return driver, driver, driver
