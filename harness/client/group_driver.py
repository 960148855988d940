"""What a library does as a member of a consumer group, and no more; the rest is group_member.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from harness.client.driver import DriverError, Polled

Strategy = Literal["eager", "cooperative", "consumer"]
"""How partitions move: two of the classic protocol, and the new protocol of KIP-848."""
Commits = Literal["sync", "async", "auto", "transaction"]
"""How a member commits; `transaction`: with the outputs that it makes of the records."""
Ownership = Literal["assigned", "revoked", "lost"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """The value of the operation `subscribe`."""

    group: str
    topics: tuple[str, ...]
    strategy: Strategy = "eager"
    commits: Commits = "sync"
    instance: str | None = None
    """group.instance.id of a static member."""

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Subscription:
        return cls(**{**value, "topics": tuple(value["topics"])})

    def value(self) -> dict[str, Any]:
        """As the history has it."""
        return {
            "group": self.group,
            "topics": list(self.topics),
            "strategy": self.strategy,
            "commits": self.commits,
            "instance": self.instance,
        }


class Membership(NamedTuple):
    """Who the member is; None where the library does not tell."""

    generation: int | None = None
    """Generation of a classic group, member epoch of the new protocol."""
    member: str | None = None


class Notice(NamedTuple):
    """What the group did to this member, and when: at the beginning of a callback that takes
    partitions away, at the end of one that gives some."""

    time_ns: int
    f: Ownership
    keys: Sequence[str]
    generation: int | None


class Committed(NamedTuple):
    """The end of a commit in the background."""

    time_ns: int
    offsets: Mapping[str, int]
    error: DriverError | None = None


@runtime_checkable
class GroupDriver(Protocol):
    """A driver whose library can be a member of a group. Methods raise DriverError."""

    async def subscribe(self, subscription: Subscription) -> Subscription:
        """Begins to join; the group answers while it is polled. Returns what was done: a library
        without the strategy that was asked for takes the nearest that it has."""
        ...

    async def leave(self) -> None:
        """Leaves the group and tells it so, as an application that ends does."""
        ...

    def membership(self) -> Membership: ...

    async def poll_group(self) -> Polled: ...

    async def commit(self, offsets: Mapping[str, int]) -> None:
        """Returns when all of them are acknowledged."""
        ...

    def commit_later(self, offsets: Mapping[str, int]) -> None:
        """Leaves the commit to the library; its end is among `committed_since`."""
        ...

    async def committed(self, keys: Sequence[str]) -> dict[str, int | None]:
        """What the group has committed; None for a key without a commit."""
        ...

    def notices(self) -> list[Notice]:
        """Those that came since it was last asked."""
        ...

    def committed_since(self) -> list[Committed]: ...
