"""What every real client is asked to do, so that one test speaks through all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Codec = Literal["none", "gzip", "snappy", "lz4", "zstd"]
Acks = Literal["0", "1", "all"]
Start = int | Literal["beginning", "end"]
Headers = tuple[tuple[str, bytes | None], ...]

CODECS: tuple[Codec, ...] = ("none", "gzip", "snappy", "lz4", "zstd")
ACKS: tuple[Acks, ...] = ("0", "1", "all")
TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Message:
    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    timestamp_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    offset: int
    timestamp_ms: int
    message: Message


class Speaker(Protocol):
    """One client library, aimed at one cluster. Nobody here joins a consumer group."""

    name: str
    codecs: tuple[Codec, ...]
    sets_timestamps: bool

    def produce(
        self,
        topic: str,
        partition: int,
        messages: Sequence[Message],
        *,
        codec: Codec = "none",
        acks: Acks = "all",
        idempotent: bool = False,
    ) -> None:
        """Returns when all is acknowledged, with acks=0 when all is handed to the kernel."""
        ...

    def close(self) -> None: ...


class Reader(Speaker, Protocol):
    def read(
        self,
        topic: str,
        partition: int,
        count: int,
        *,
        start: Start = "beginning",
        once_positioned: Callable[[], None] | None = None,
    ) -> list[Stored]:
        """Exactly `count` records; `once_positioned` runs when the client knows where it is."""
        ...

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None: ...

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """The first offset and the end offset."""
        ...


def without_timestamp(stored: Sequence[Stored]) -> list[Message]:
    """What was stored, comparable with what was sent without a time of its own."""
    return [Message(one.message.value, one.message.key, one.message.headers) for one in stored]
