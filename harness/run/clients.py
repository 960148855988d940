"""The clients of a run, wherever they live: worker processes, or tasks inside the simulator."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from harness.client.base import Invocation
from harness.cluster.capabilities import ClientProcesses


class Left(NamedTuple):
    """What one client had not done when its reading back was over."""

    records: Mapping[str, int]
    """By key, how many it had not reached; 0 where it came to the end."""
    questions: Sequence[str] = ()
    """The last ones of its workload that nobody answered."""


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
    def doubts(self) -> Sequence[str]:
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


def asked(question: Invocation) -> str:
    return f"{question.f} {json.dumps(question.value)}"
