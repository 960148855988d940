"""aiokafka as a member of a consumer group: the classic protocol with eager rebalances, no other.

It has no callback for lost partitions, so what it revokes may belong to another member already.
Commits in the background are tasks. The library's own timer for commits is off, because it does not
say what it commits.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import IllegalStateError, KafkaError

from harness.client.aiokafka_offset_fetch import respect_group_errors
from harness.client.aiokafka_settings import driver_error
from harness.client.driver import DriverError, place_of
from harness.client.group_driver import (
    Commits,
    Committed,
    Membership,
    Notice,
    Ownership,
    Subscription,
)

_SESSION_MS = 6_000
_MAX_POLL_MS = 8_000


def possible(subscription: Subscription) -> Subscription:
    """The nearest that the library can do."""
    commits: Commits = subscription.commits
    if commits == "auto":
        commits = "async"
    return replace(subscription, strategy="eager", commits=commits)


def group_arguments(subscription: Subscription) -> dict[str, Any]:
    return {
        "group_id": subscription.group,
        "group_instance_id": subscription.instance,
        "enable_auto_commit": False,
        "auto_offset_reset": "earliest",
        "session_timeout_ms": _SESSION_MS,
        "heartbeat_interval_ms": _SESSION_MS // 6,
        "max_poll_interval_ms": _MAX_POLL_MS,
        "rebalance_timeout_ms": _MAX_POLL_MS,
    }


class AiokafkaMember(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, consumer: AIOKafkaConsumer, subscription: Subscription) -> None:
        self.consumer = consumer
        self.group = subscription.group
        self._notices: list[Notice] = []
        self._committed: list[Committed] = []
        self._commits: dict[asyncio.Task[None], None] = {}
        respect_group_errors(consumer)
        consumer.subscribe(list(subscription.topics), listener=self)

    def membership(self) -> Membership:
        generation = self._coordinator.generation
        member = self._coordinator.member_id
        return Membership(generation if generation >= 0 else None, member or None)

    @property
    def _coordinator(self) -> Any:
        return self.consumer._coordinator

    async def commit(self, offsets: Mapping[str, int]) -> None:
        try:
            await self.consumer.commit({_partition(key): offset for key, offset in offsets.items()})
        except IllegalStateError as error:
            raise DriverError("_STATE", str(error), harmless=True) from error
        except KafkaError as error:
            raise driver_error(error) from error

    def commit_later(self, offsets: Mapping[str, int]) -> None:
        task = asyncio.get_running_loop().create_task(self._commit_in_task(dict(offsets)))
        self._commits[task] = None
        task.add_done_callback(lambda done: self._commits.pop(done, None))

    async def _commit_in_task(self, offsets: Mapping[str, int]) -> None:
        problem = None
        try:
            await self.commit(offsets)
        except DriverError as error:
            problem = error
        self._committed.append(Committed(time.monotonic_ns(), offsets, problem))

    async def committed(self, keys: Sequence[str]) -> dict[str, int | None]:
        """Asks the coordinator; `AIOKafkaConsumer.committed` may answer from memory."""
        asked = {_partition(key): key for key in keys}
        try:
            found = await self._coordinator.fetch_committed_offsets(list(asked))
        except KafkaError as error:
            raise driver_error(error) from error
        return {
            key: found[where].offset if where in found else None for where, key in asked.items()
        }

    def stop_commits(self) -> None:
        for task in list(self._commits):
            task.cancel()

    def take_notices(self) -> list[Notice]:
        notices, self._notices = self._notices, []
        return notices

    def take_committed(self) -> list[Committed]:
        committed, self._committed = self._committed, []
        return committed

    async def on_partitions_revoked(self, revoked: Sequence[TopicPartition]) -> None:
        self._note("revoked", revoked)

    async def on_partitions_assigned(self, assigned: Sequence[TopicPartition]) -> None:
        self._note("assigned", assigned)

    def _note(self, f: Ownership, partitions: Sequence[TopicPartition]) -> None:
        keys = sorted(f"{each.topic}-{each.partition}" for each in partitions)
        if keys:
            generation = self.membership().generation
            self._notices.append(Notice(time.monotonic_ns(), f, keys, generation))


def _partition(key: str) -> TopicPartition:
    place = place_of(key)
    return TopicPartition(place.topic, place.partition)
