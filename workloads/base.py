"""A workload: what clients do, as data, and who judges it.

Everything is a pure function of the seed, the client's number and the operation's ordinal, so the
same run can be had again, taking one operation away moves no other, and nothing has to be stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from harness.client.base import Invocation
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


class Workload(Protocol):
    """Its docstring's first sentence is what `harness workloads` says of it."""

    name: str
    is_polled: bool
    """Whether its clients poll under load: only polls tell how far a log was read."""
    needs: frozenset[Part]
    """The parts of a system without which it cannot be used."""
    checkers: tuple[str, ...]
    """By name, in the order in which they are told of."""

    @property
    def topics(self) -> Sequence[NewTopic]: ...

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
