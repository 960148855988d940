"""What a process of a run asks of its client: one operation, one completion.

An operation is `f` and `value` as docs/reference/history.md writes them down, and so is its
completion. A client never raises for what a cluster does to it: whatever happens is an outcome.
`fail` is for what certainly did not happen; everything that is not known for certain is `info`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from harness.history.op import OpType

Outcome = Literal["ok", "fail", "info"]
Acks = Literal["0", "1", "all"]
IsolationLevel = Literal["read_uncommitted", "read_committed"]
Codec = Literal["none", "gzip", "snappy", "lz4", "zstd"]
Partitioner = Literal["default", "murmur2", "custom"]


@dataclass(frozen=True, slots=True)
class Invocation:
    f: str
    value: Any = None


class Beside(NamedTuple):
    """A row of the history that is neither the invocation nor the completion of an operation: what
    a group did to its member, or a commit that goes on in the background."""

    time_ns: int
    type: OpType
    f: str
    value: Any
    error: str | None = None
    background: int | None = None
    """Number of the background operation; None for a row of the client's own process."""


@dataclass(frozen=True, slots=True)
class Completion:
    type: Outcome
    value: Any = None
    """Whatever is known, of operations that did not end well, too."""
    error: str | None = None
    """Kafka's name of the error, then what the client says: `NOT_ENOUGH_REPLICAS: Broker: ...`."""
    node: str | None = None
    timestamps: list[Any] | None = None
    """Timestamps of the records sent and polled, as the history keeps them beside the value
    (harness/history/timestamps.py); None if the client does not know them."""
    beside: Sequence[Beside] = ()
    """Rows that came up since the last completion, in the order of their times."""
    is_last: bool = False
    """Whether the client is beyond use, as a fenced producer is: its process ends, though the
    outcome is known."""
    reached: Mapping[str, int] | None = None
    """By key: how far polls of this operation have read the log, beyond the last record, too."""


class Prepared(NamedTuple):
    """An invocation as it is about to be carried out, and the rows that go before it."""

    invocation: Invocation
    beside: Sequence[Beside] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Batching:
    """How a producer chooses partitions, and puts records together for each of them."""

    linger_ms: int = 0
    """Time that a batch waits for more records."""
    batch_bytes: int = 16_384
    """Size of a batch before compression; a batch has one record at least."""
    codec: Codec = "none"
    partitioner: Partitioner = "default"
    """For records that name a key and no partition (harness/client/partitioners.py)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """What a run decides for all of its clients. Names and meanings are Kafka's."""

    bootstrap: str
    acks: Acks = "all"
    enable_idempotence: bool = True
    retries: int | None = None
    """None leaves it to the client, which then retries until the delivery times out."""
    isolation_level: IsolationLevel = "read_committed"
    delivery_timeout_ms: int = 10_000
    request_timeout_ms: int = 2_000
    """About as long as it takes to elect another leader in the place of one that was cut off."""
    metadata_max_age_ms: int = 500
    """A leader that was cut off and deposed answers its clients still, but acknowledges nothing. A
    request that times out sends no client to look for another leader; only old metadata does."""
    poll_ms: int = 100
    seed: int = 0
    """Seed of the run, for a client that draws anything."""
    protocol_versions: str = "newest"
    """Versions of the APIs that the native client speaks (harness/native/versions.py)."""
    batching: Batching = Batching()
    producer_config: Mapping[str, str] = field(default_factory=dict)
    """Settings by the library's names; they override everything above."""
    consumer_config: Mapping[str, str] = field(default_factory=dict)


class Client(Protocol):
    """Of one process, which does one thing at a time. Thrown away after an `info`."""

    async def open(self) -> None:
        """Connects lazily where the library does. Raises EnvironmentFailure if it cannot be."""
        ...

    async def invoke(self, invocation: Invocation) -> Completion: ...

    async def close(self) -> None:
        """At once: nothing is flushed or committed on the way out."""
        ...


@runtime_checkable
class Preparing(Protocol):
    """A client that completes an invocation before it is recorded.

    A commit says which offsets it is about. They are known to the client alone, and must be in the
    history before the request is sent: a client that is killed meanwhile may have committed them.
    """

    def prepare(self, invocation: Invocation) -> Prepared: ...
