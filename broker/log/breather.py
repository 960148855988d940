"""Long work in short slices: between two of them the loop serves everybody else."""

from __future__ import annotations

import asyncio


class Breather:
    """One for each long task. Call `pause` often: it costs nothing until the slice is used up."""

    __slots__ = ("_loop", "_slice_s", "_until")

    def __init__(self, slice_ms: float = 10) -> None:
        self._slice_s = slice_ms / 1000
        self._loop = asyncio.get_running_loop()
        self._until = self._loop.time() + self._slice_s

    async def pause(self) -> None:
        if self._loop.time() >= self._until:
            await asyncio.sleep(0)
            self._until = self._loop.time() + self._slice_s
