"""The clients of a run, wherever they live: worker processes, or tasks inside the simulator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol


class Clients(Protocol):
    async def open(self) -> None:
        """Returns when every client is ready to begin."""
        ...

    async def load(self, for_s: float) -> None:
        """Returns when the last operation of the last client has come to its end."""
        ...

    async def drain(self, ends: Mapping[str, int], within_s: float) -> Mapping[str, int]:
        """Everything is read back up to `ends`; by key, the ends that nobody reached."""
        ...

    def stop(self) -> None:
        """Ends a load or a drain after the operations under way."""
        ...

    async def close(self) -> None:
        """Nothing of them is left. Safe at any time."""
        ...


def unreached(reached: Iterable[Mapping[str, int]], ends: Mapping[str, int]) -> dict[str, int]:
    """A key is read back if one client came to its end; by key, the ends that none came to."""
    furthest: dict[str, int] = {}
    for each in reached:
        for key, offset in each.items():
            furthest[key] = max(offset, furthest.get(key, 0))
    return {key: end for key, end in ends.items() if furthest.get(key, 0) < end}
