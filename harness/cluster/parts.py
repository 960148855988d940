"""What a system may have beside its processes: each part a protocol of its own, present or None.

A system offers its parts as attributes of these names (`system.leaders`). Nemeses and workloads
declare the parts that they need, and a plan that needs one its system lacks is refused before
anything is started. A system that is itself all of its parts inherits from `EveryPart`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal, Protocol, Self, TypeVar, get_args

from harness.cluster.capabilities import Node

if TYPE_CHECKING:
    from harness.cluster.base import NewTopic, PartitionState, System
    from harness.wire.cluster_state import LedPartition, QuorumLeader

Part = Literal[
    "topics",
    "leaders",
    "elections",
    "reassignment",
    "controllers",
    "retention",
    "stored",
    "state",
]
PARTS: tuple[Part, ...] = get_args(Part)
EVERY_PART: frozenset[Part] = frozenset(PARTS)
NO_PARTS: frozenset[Part] = frozenset()
_MEANT: Mapping[Part, str] = {
    "topics": "topics that can be created and altered",
    "leaders": "partitions with leaders",
    "elections": "a way to elect another leader",
    "reassignment": "a way to move replicas between nodes",
    "controllers": "a controller",
    "retention": "a way to delete the beginning of a log",
    "stored": "segments on disk that the harness can find",
    "state": "an answer about leaders and epochs of every node",
}
_Offered = TypeVar("_Offered")


class Topics(Protocol):
    async def create_topic(self, topic: NewTopic) -> None:
        """Returns when every partition has a leader. One that is there already is left alone."""
        ...

    async def alter_topic(self, topic: str, configs: Mapping[str, str | None]) -> None:
        """None takes the topic's own setting away."""
        ...


class Leaders(Protocol):
    async def partitions(self, topic: str, asking: Sequence[Node]) -> Sequence[PartitionState]:
        """By index. Raises NoAnswerError when none of the nodes answers."""
        ...


class Elections(Protocol):
    async def elect(self, topic: str, index: int) -> None:
        """Makes the preferred replica the leader."""
        ...


class Reassignment(Protocol):
    async def reassign(self, topic: str, index: int, replicas: Sequence[Node]) -> None:
        """The first replica is the preferred leader. Returns when it is decided, not when done."""
        ...


class Controllers(Protocol):
    async def controller(self, asking: Sequence[Node]) -> Node | None:
        """The active one as these nodes know it. Raises NoAnswerError when none answers."""
        ...


class Retention(Protocol):
    async def log_starts(self, topic: str) -> Mapping[int, int]:
        """By partition: the first offset that can still be read."""
        ...

    async def delete_records(self, topic: str, before: Mapping[int, int]) -> None:
        """By partition: everything below this offset, and at once."""
        ...


class Stored(Protocol):
    async def segments(self, topic: str, node: Node) -> Mapping[int, Sequence[int]]:
        """By partition: the sizes of the log's files on this node's disk, the oldest first.

        Found on the host, not asked of the broker, so that it is known while the broker is down.
        """
        ...

    def log_directory(self, node: Node) -> PurePosixPath:
        """The directory on the host that holds a directory `topic-N` for each partition."""
        ...


class StateLine(Protocol):
    """A connection to one node, for questions that may stay unanswered."""

    async def leaders(
        self, topics: Sequence[str], within_s: float
    ) -> Mapping[str, LedPartition] | None:
        """By key (`t-0`); None if there is no answer in time."""
        ...

    async def quorum(self, within_s: float) -> QuorumLeader | None: ...

    async def close(self) -> None: ...


class State(Protocol):
    def state_line(self, node: Node) -> StateLine: ...

    def node_of(self, number: int) -> Node:
        """The node that calls itself by this number in its answers."""
        ...


class EveryPart:
    """A system that is itself every part."""

    @property
    def topics(self) -> Self:
        return self

    @property
    def leaders(self) -> Self:
        return self

    @property
    def elections(self) -> Self:
        return self

    @property
    def reassignment(self) -> Self:
        return self

    @property
    def controllers(self) -> Self:
        return self

    @property
    def retention(self) -> Self:
        return self

    @property
    def stored(self) -> Self:
        return self


class NoParts:
    """A system of processes alone: clients reach it, and the harness asks it nothing."""

    topics = leaders = elections = reassignment = None
    controllers = retention = stored = state = None


def offered(system: System) -> frozenset[Part]:
    return frozenset(part for part in PARTS if getattr(system, part) is not None)


def why_lacking(needed: Iterable[Part], parts: frozenset[Part], system: str) -> str | None:
    """The first part that is needed and missing, in a sentence; or None."""
    for part in PARTS:
        if part in needed and part not in parts:
            return f"it needs {_MEANT[part]}, which system {system} does not have"
    return None


def the(part: _Offered | None) -> _Offered:
    """One that was declared to be needed, so that no run without it comes this far."""
    assert part is not None, "a part or capability was used without having been declared as needed"
    return part
