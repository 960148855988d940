"""Long work in short slices: between two of them the loop serves everybody else."""

from __future__ import annotations

import asyncio

CALLS_PER_SLICE = 1000
"""In a simulation time stands still while something works; others must get a turn all the same."""


class Breather:
    """One for each long task. Call `pause` often: it costs nothing until the slice is used up.

    Where several tasks share one, they share its slices, too.
    """

    __slots__ = ("_calls_left", "_loop", "_slice_s", "_until")

    def __init__(self, slice_ms: float = 10) -> None:
        self._slice_s = slice_ms / 1000
        self._loop = asyncio.get_running_loop()
        self._begin_slice()

    def _begin_slice(self) -> None:
        self._until = self._loop.time() + self._slice_s
        self._calls_left = CALLS_PER_SLICE

    async def pause(self) -> None:
        self._calls_left -= 1
        if self._calls_left <= 0 or self._loop.time() >= self._until:
            used_up = self._until
            await asyncio.sleep(0)
            if self._until == used_up:  # or another has begun the next slice
                self._begin_slice()
