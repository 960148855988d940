"""The shards of an internal topic, reached by the keys that belong to its partitions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Generic

from broker.coordination.internal_topics import partition_for
from broker.coordination.shard import MachineT
from broker.coordination.shards import Shards
from broker.coordination.step import Now, Step, Ticket
from broker.metadata.image import TopicInfo
from broker.protocol.errors import ErrorCode, KafkaError

Run = Callable[[MachineT, Ticket, Now], Step]


class KeyedShards(Generic[MachineT]):
    """`topic` returns the topic as the metadata have it, None while it does not exist."""

    def __init__(self, shards: Shards[MachineT], topic: Callable[[], TopicInfo | None]) -> None:
        self._shards = shards
        self._topic = topic

    async def submit(self, key: str, run: Run[MachineT]) -> Any:
        """The reply of the key's machine. Raises KafkaError when this node cannot answer."""
        return await reply_of(self.ask(key, run))

    def ask(self, key: str, run: Run[MachineT]) -> asyncio.Future[Any]:
        """As `submit`, for several questions at once: `await reply_of(...)` each afterwards.

        The result is the reply, or a KafkaError.
        """
        try:
            return self._shards.ask(self.partition_of(key), run)
        except KafkaError as error:
            return answered(error)

    def call(self, key: str, run: Run[MachineT], replied: Callable[[Any], None]) -> None:
        """As `ask`, without a future: `replied` gets the reply, or a KafkaError. It may be called
        at once, and must not raise."""
        try:
            self._shards.call(self.partition_of(key), run, replied)
        except KafkaError as error:
            replied(error)

    def ask_all(self, run: Run[MachineT]) -> list[asyncio.Future[Any]]:
        """The same question to all partitions that this node leads, in their order."""
        asked: list[asyncio.Future[Any]] = []
        for _, shard in self._shards:
            try:
                asked.append(shard.ask(run))
            except KafkaError as error:
                asked.append(answered(error))
        return asked

    def partition_of(self, key: str) -> int:
        """Raises KafkaError(NOT_COORDINATOR) while there is no topic."""
        topic = self._topic()
        if topic is None:
            raise KafkaError(ErrorCode.NOT_COORDINATOR, f"{self._shards.topic} does not exist yet")
        return partition_for(key, len(topic.partitions))


async def reply_of(asked: asyncio.Future[Any]) -> Any:
    """Raises KafkaError."""
    result = await asked
    if isinstance(result, KafkaError):
        try:
            raise result
        finally:
            # The error refers to this frame. If the frame referred to the error, only the garbage
            # collector could free both.
            del asked, result
    return result


def answered(error: KafkaError) -> asyncio.Future[Any]:
    """The future of a question that is refused at once with this error."""
    outcome: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    outcome.set_result(error)
    return outcome
