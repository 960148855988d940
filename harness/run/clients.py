"""The clients of a run, wherever they live: worker processes, or tasks inside the simulator."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from harness.client.base import Invocation
from harness.cluster.capabilities import ClientProcesses
from harness.doubts import Doubt


class Left(NamedTuple):
    """What one client had not done when its reading back was over."""

    records: Mapping[str, int]
    """By key, how many it had not reached; 0 where it came to the end."""
    questions: Sequence[str] = ()
    """The last ones of its workload that nobody answered."""


class Tried(NamedTuple):
    """What became of writes to one partition when all was healed. Times are in ns."""

    began_ns: int = 0
    """First invocation, from the beginning of the probe."""
    until_ns: int = 0
    """Last completion, from the beginning of the probe."""
    tries: int = 0
    """Writes of one client; of several clients, by the one that tried most."""
    acknowledged: int = 0
    """How many writes were, by all clients. A client stops at its first."""
    took_ns: int | None = None
    """From the first invocation to the acknowledgement, of the client that waited least."""
    is_heard: bool = False
    """Whether any broker answered one of the clients that tried."""
    error: str | None = None
    """Of the last write that was not acknowledged."""

    def is_to_be_continued(self, within_ns: int) -> bool:
        return not self.acknowledged and (self.until_ns < within_ns or self.tries < 2)


class Unsettled(NamedTuple):
    """What is open when all clients have read back."""

    unread: Mapping[str, int | None]
    """By key, how much nobody has read; None for all of it."""
    unanswered: Sequence[str]


class Clients(ClientProcesses, Protocol):
    async def open(self) -> None:
        """Returns when every client is ready to begin."""
        ...

    async def load(self, for_s: float) -> None:
        """Returns when the last operation of the last client has come to its end."""
        ...

    async def probe(self, keys: Sequence[str], within_s: float) -> Mapping[str, Tried]:
        """Writes to each key until one write is acknowledged, or two at least were in vain, the
        last of which ended after `within_s`. Every key is in the result, also one that nobody
        came to try."""
        ...

    async def drain(self, ends: Mapping[str, int], within_s: float) -> Unsettled:
        """Everything is read back, and what the workload asks last is asked."""
        ...

    def stop(self) -> None:
        """Ends a load or a drain after the operations under way."""
        ...

    @property
    def deaths(self) -> int:
        """How many ended by themselves, or were killed by somebody who has no part in the run."""
        ...

    @property
    def doubts(self) -> Sequence[Doubt]:
        """About clients that could not do what they were there for."""
        ...

    async def close(self) -> None:
        """Nothing of them is left. Safe at any time."""
        ...


def unsettled(left: Iterable[Left], keys: Iterable[str]) -> Unsettled:
    """Of a key what the reader left that came furthest; of questions each that somebody asked in
    vain, once, though two clients may have."""
    least: dict[str, int] = {}
    unanswered: dict[str, None] = {}
    for each in left:
        unanswered |= dict.fromkeys(each.questions)
        for key, rest in each.records.items():
            least[key] = min(rest, least.get(key, rest))
    unread = {key: least.get(key) for key in keys if least.get(key, -1) != 0}
    return Unsettled(unread, list(unanswered))


def tried_by_all(found: Iterable[Mapping[str, Tried]], keys: Iterable[str]) -> dict[str, Tried]:
    """One acknowledgement, by whichever client, is enough for a key."""
    merged = dict.fromkeys(keys, Tried())
    for by_one in found:
        for key, each in by_one.items():
            before = merged.get(key, Tried())
            if not before.tries:
                merged[key] = each
                continue
            latest = max(before, each, key=lambda tried: tried.until_ns)
            waits = [tried.took_ns for tried in (before, each) if tried.took_ns is not None]
            merged[key] = Tried(
                began_ns=min(before.began_ns, each.began_ns),
                until_ns=latest.until_ns,
                tries=max(before.tries, each.tries),
                acknowledged=before.acknowledged + each.acknowledged,
                took_ns=min(waits, default=None),
                is_heard=before.is_heard or each.is_heard,
                error=latest.error or before.error or each.error,
            )
    return merged


def asked(question: Invocation) -> str:
    return f"{question.f} {json.dumps(question.value)}"
