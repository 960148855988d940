"""librdkafka as a member of a consumer group.

The generation (classic) or member epoch (KIP-848) is in what `consumer_group_metadata` returns: the
serialised form for a transactional producer. It begins with a magic text and the number, an int32
in the byte order of the machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from struct import Struct
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from harness.client.base import ClientSettings
from harness.client.driver import DriverError, place_of
from harness.client.group_driver import Committed, Membership, Notice, Ownership, Subscription
from harness.client.librdkafka import LOGGER, Config, driver_error

_SESSION_MS = 6_000
_MAX_POLL_MS = 8_000
_AUTO_COMMIT_MS = 500
_MAGIC = b"CGMDv2:"
_GENERATION = Struct("=i")
_UNKNOWN = -1


class ConfluentMember:
    """One consumer of one group, from `subscribe` to `leave`."""

    def __init__(
        self, subscription: Subscription, settings: ClientSettings, consumer_config: Config
    ) -> None:
        self._patience_s = settings.delivery_timeout_ms / 1000
        self._notices: list[Notice] = []
        self._committed: list[Committed] = []
        self.consumer = Consumer(
            consumer_config | _group_config(subscription) | {"on_commit": self._on_commit},
            logger=LOGGER,
        )
        self.consumer.subscribe(
            list(subscription.topics),
            on_assign=self._taker("assigned"),
            on_revoke=self._taker("revoked"),
            on_lost=self._taker("lost"),
        )
        self._is_auto = subscription.commits == "auto"
        self._last: Membership | None = None
        """Who it was when its end began: a consumer that is being closed cannot be asked, and what
        a callback raises then ends the process with a SystemError (confluent-kafka 2.16)."""

    def close(self) -> None:
        self._last = self.membership()
        self.consumer.close()

    def membership(self) -> Membership:
        if self._last is not None:
            return self._last
        told = self.consumer.consumer_group_metadata()
        if not told.startswith(_MAGIC):
            return Membership()
        (generation,) = _GENERATION.unpack_from(told, len(_MAGIC))
        _, _, rest = told[len(_MAGIC) + _GENERATION.size :].partition(b"\0")
        member = rest.partition(b"\0")[0].decode()
        return Membership(None if generation == _UNKNOWN else generation, member or None)

    def commit(self, offsets: Mapping[str, int]) -> None:
        try:
            found = self.consumer.commit(offsets=_positions(offsets), asynchronous=False)
        except KafkaException as error:
            raise driver_error(error.args[0]) from error
        problem = next((each.error for each in found or () if each.error is not None), None)
        if problem is not None:
            raise driver_error(problem)

    def commit_later(self, offsets: Mapping[str, int]) -> None:
        try:
            if self._is_auto:
                self.consumer.store_offsets(offsets=_positions(offsets))
            else:
                self.consumer.commit(offsets=_positions(offsets), asynchronous=True)
        except KafkaException as error:
            raise driver_error(error.args[0], harmless=not self._is_auto) from error

    def committed(self, keys: Sequence[str]) -> dict[str, int | None]:
        try:
            found = self.consumer.committed(
                [TopicPartition(place_of(key).topic, place_of(key).partition) for key in keys],
                timeout=self._patience_s,
            )
        except KafkaException as error:
            raise driver_error(error.args[0]) from error
        problem = next((each.error for each in found if each.error is not None), None)
        if problem is not None:
            raise driver_error(problem)
        return {_key(each): each.offset if each.offset >= 0 else None for each in found}

    def take_notices(self) -> list[Notice]:
        notices, self._notices = self._notices, []
        return notices

    def take_committed(self) -> list[Committed]:
        committed, self._committed = self._committed, []
        return committed

    def _taker(self, f: Ownership) -> Callable[[Consumer, list[TopicPartition]], None]:
        def take(consumer: Consumer, partitions: list[TopicPartition]) -> None:
            keys = [_key(each) for each in partitions]
            if keys:
                generation = self.membership().generation
                self._notices.append(Notice(time.monotonic_ns(), f, keys, generation))

        return take

    def _on_commit(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        problem = error or next((each.error for each in partitions if each.error), None)
        offsets = {_key(each): each.offset for each in partitions if each.offset >= 0}
        told = None if problem is None else driver_error(problem)
        self._committed.append(Committed(time.monotonic_ns(), offsets, told))


def _group_config(subscription: Subscription) -> dict[str, Any]:
    config: dict[str, Any] = {
        "group.id": subscription.group,
        "max.poll.interval.ms": _MAX_POLL_MS,
        "enable.auto.commit": subscription.commits == "auto",
        "auto.commit.interval.ms": _AUTO_COMMIT_MS,
    }
    if subscription.instance is not None:
        config["group.instance.id"] = subscription.instance
    if subscription.strategy == "consumer":
        # Sessions and assignors are the broker's business in the new protocol.
        return {**config, "group.protocol": "consumer"}
    cooperative = subscription.strategy == "cooperative"
    return {
        **config,
        "session.timeout.ms": _SESSION_MS,
        "heartbeat.interval.ms": _SESSION_MS // 6,
        "partition.assignment.strategy": "cooperative-sticky" if cooperative else "range",
    }


def _positions(offsets: Mapping[str, int]) -> list[TopicPartition]:
    return [
        TopicPartition(place_of(key).topic, place_of(key).partition, offset)
        for key, offset in offsets.items()
    ]


def _key(partition: TopicPartition) -> str:
    return f"{partition.topic}-{partition.partition}"


NOT_A_MEMBER = DriverError("_STATE", "the client has not subscribed", harmless=True)
