"""A workload: what clients do, as data, and who judges it.

Everything is a pure function of the seed, the client's number and the operation's ordinal, so the
same run can be had again, taking one operation away moves no other, and nothing has to be stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from harness.client.base import Batching, Invocation
from harness.cluster.base import NewTopic
from harness.cluster.parts import Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What a run tells its workload."""

    seed: int
    clients: int
    replication_factor: int = 3
    topic_configs: Mapping[str, str]
    key_dist: str = "uniform"
    """uniform, zipf, or hot:90 (so many percent of all operations on one key)."""
    burst: int = 1
    """Most records of one send, for workloads that send bursts."""
    batch_bytes_max: int | None = None
    """Largest batch that the brokers take, where a setting says so."""
    transactions: bool = True
    """False: workloads of transactions do the same without any, to show what they are good for."""
    transaction_timeout_ms: int | None = None
    """None leaves it to the workload, which draws one for each client."""


class Workload(Protocol):
    """Its docstring's first sentence is what `harness workloads` says of it."""

    name: str
    consistency: str
    """What a valid run has shown of the system, in the terms of databases."""
    is_polled: bool
    """Whether its clients poll under load: only polls tell how far a log was read."""
    needs: frozenset[Part]
    """The parts of a system without which it cannot be used."""
    checkers: tuple[str, ...]
    """By name, in the order in which they are told of."""

    @property
    def topics(self) -> Sequence[NewTopic]: ...

    def batching(self, client: int) -> Batching:
        """How this client's producer puts records together."""
        ...

    def opening(self, client: int, process: int) -> Sequence[Invocation]:
        """What a process does first: a client that is new has nothing assigned."""
        ...

    def operation(self, client: int, ordinal: int) -> Invocation:
        """`client` counts from 0 and lives through the whole run; processes come and go."""
        ...

    def write(self, client: int, ordinal: int, key: str) -> Invocation:
        """One write to this partition, as `operation` makes them: its value is the ordinal's own.

        A run asks for it when all is healed, to see whether the partition takes writes.
        """
        ...

    def drained_keys(self, client: int) -> Sequence[str]:
        """What this client reads back from the beginning when all is healed."""
        ...

    def closing(self, client: int, ordinal: int) -> Sequence[Invocation]:
        """What it asks last of all, when everything is read back; `ordinal` is the next one's."""
        ...


class Membership(NamedTuple):
    """How a client takes part in a consumer group."""

    group: str
    subscribe: Invocation
    committed: Invocation
    """Asks for the committed offsets of all partitions of the group."""


@runtime_checkable
class WithTransactions(Protocol):
    """A workload whose clients have transactional producers. When all is healed, a run waits until
    no transaction is open, or until the coordinators should have ended all that were."""

    transactional_ids: Sequence[str]
    """Of all clients, without repetition; empty if it makes no transactions in this run."""
    expiry_ms: int
    """The longest transaction.timeout.ms of any client, and the time until brokers look for
    transactions whose time is up."""


@runtime_checkable
class WithTransforms(Protocol):
    """A workload whose groups commit in transactions, with the outputs that they make."""

    def transform(self, client: int, ordinal: int) -> Invocation: ...


@runtime_checkable
class WithGroups(Protocol):
    """A workload whose clients are members of groups. When all is healed, each group reads on until
    it has committed the end of every partition."""

    clients_min: int
    """With fewer clients than these a group has no members, or nobody sends."""

    def membership(self, client: int) -> Membership | None: ...
