"""The clients of a run, wherever they live: worker processes, or tasks inside the simulator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from harness.cluster.capabilities import ClientProcesses


class Clients(ClientProcesses, Protocol):
    async def open(self) -> None:
        """Returns when every client is ready to begin."""
        ...

    async def load(self, for_s: float) -> None:
        """Returns when the last operation of the last client has come to its end."""
        ...

    async def drain(self, ends: Mapping[str, int], within_s: float) -> Mapping[str, int | None]:
        """Everything is read back; by key, how much nobody has read, None for all of it."""
        ...

    def stop(self) -> None:
        """Ends a load or a drain after the operations under way."""
        ...

    @property
    def deaths(self) -> int:
        """How many ended by themselves, or were killed by somebody who has no part in the run."""
        ...

    async def close(self) -> None:
        """Nothing of them is left. Safe at any time."""
        ...


def unread(left: Iterable[Mapping[str, int]], keys: Iterable[str]) -> dict[str, int | None]:
    """By key what the reader left that came furthest, if anything; None where nobody read."""
    least: dict[str, int] = {}
    for each in left:
        for key, rest in each.items():
            least[key] = min(rest, least.get(key, rest))
    return {key: least.get(key) for key in keys if least.get(key, -1) != 0}
