"""What differs between client libraries, and no more: a driver does single things, and raises.

What an operation means, what of it is kept when it ends badly and what its end proves is the same
for every library, and stands in kafka_client.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple, Protocol

from harness.client.outcomes import Mode
from harness.client.traffic import Traffic


class DriverError(Exception):
    """`name` is Kafka's; errors of the library itself have the library's names."""

    def __init__(
        self,
        name: str,
        message: str = "",
        *,
        harmless: bool = False,
        partition: int | None = None,
    ) -> None:
        super().__init__(f"{name}: {message}" if message else name)
        self.name = name
        self.message = message
        self.harmless = harmless
        """Nothing was sent, or the client knows of each try that it was refused."""
        self.partition = partition
        """Where a record went for which the client chose the partition, as far as is known."""


ANY_PARTITION = -1


class Place(NamedTuple):
    """A partition, and the key of a record if it has one."""

    topic: str
    partition: int
    """ANY_PARTITION: the client chooses it by `name`."""
    name: str | None
    key: str
    """Of the partition: topic-partition; or the topic, where the client chooses the partition."""


@cache
def place_of(key: str) -> Place:
    """From a key of the history: `topic-partition`, `topic-partition/name` or `topic/name`."""
    log, slash, name = key.partition("/")
    topic, _, partition = log.rpartition("-")
    if topic and partition.isdigit():
        return Place(topic, int(partition), name if slash else None, log)
    if log and slash:
        return Place(log, ANY_PARTITION, name, log)
    raise ValueError(f"{key!r} is no key: it should be topic-partition, like queue1-0")


def is_topic(key: str) -> bool:
    """Whether a key names a topic with all its partitions: `keyed`, and not `keyed-0`."""
    topic, _, partition = key.rpartition("-")
    return "/" not in key and not (topic and partition.isdigit())


class ToStore(NamedTuple):
    """One record to be produced, with the timestamp that it gets under CreateTime."""

    place: Place
    key: bytes | None
    payload: bytes | None
    timestamp_ms: int


class Stored(NamedTuple):
    """An acknowledged record. The offset is None where the broker does not tell it, with acks=0."""

    offset: int | None
    node: str | None = None
    partition: int | None = None
    """Told where the client chose it."""


class Read(NamedTuple):
    offset: int
    key: bytes | None
    payload: bytes | None
    timestamp_ms: int | None = None
    """None where the library does not tell one."""


class Whole(NamedTuple):
    """Everything of a partition below `end`, as far as compaction has left it."""

    records: list[Read]
    end: int


@dataclass(slots=True)
class Polled:
    """What came, and what was told beside it. Keys stand in the order in which they came."""

    records: dict[str, list[Read]] = field(default_factory=dict)
    error: DriverError | None = None
    reached: dict[str, int] = field(default_factory=dict)
    """By key: offset up to which the log was read, where the library tells it. Behind the last
    record there may be offsets without one: markers of transactions, and aborted records."""


Positions = Mapping[str, int | None]
"""By key; None is the beginning, wherever that is."""


class Driver(Protocol):
    """One library. Whatever the cluster does is a DriverError; after `close` nothing is sent."""

    mode: Mode
    partitioner: str
    """Name of what chooses partitions: librdkafka's names, `murmur2`, or `custom`."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def produce(self, records: Sequence[ToStore]) -> list[Stored | DriverError]:
        """Sends all records without waiting in between, batches of a partition in flight at once.

        Returns the end of each record, in the order of `records`, when every record is
        acknowledged or given up. Raises nothing: an error is a record's own.
        """
        ...

    def traffic(self) -> Traffic:
        """What the producer had on the wire since the last call."""
        ...

    async def assign(self, positions: Positions) -> None:
        """Replaces what was assigned; each key is read from its position on."""
        ...

    async def poll(self) -> Polled:
        """As soon as there is something, or when the time for a poll is up."""
        ...

    async def read_all(self, place: Place) -> Whole:
        """The whole partition, up to the high watermark that was told last, as this ended.

        The one told first would not do: a record below it may be compacted away for one above it
        before it is read. At read_committed it is the last stable offset.
        """
        ...

    async def end_offsets(self, keys: Sequence[str]) -> dict[str, dict[str, int]]:
        """low, stable and high of each key, asked for in this order: they are never crossed."""
        ...

    async def create_topic(
        self, topic: str, partitions: int, replication_factor: int, configs: Mapping[str, str]
    ) -> None: ...

    async def delete_topic(self, topic: str) -> None: ...

    async def create_partitions(self, topic: str, count: int) -> None:
        """Adds partitions until there are `count`."""
        ...

    async def partitions_of(self, topic: str) -> int:
        """How many partitions the client knows of, by metadata within its greatest age."""
        ...

    async def alter_topic(self, topic: str, configs: Mapping[str, str | None]) -> None:
        """None takes the topic's own setting away; what is not named stays."""
        ...

    async def describe_topic(self, topic: str) -> dict[str, Any] | None:
        """Its partitions by number and its own settings; None if there is no such topic."""
        ...
