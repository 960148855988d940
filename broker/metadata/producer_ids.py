"""Hands out producer ids from blocks that the controller gives, none of them twice."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple


class Block(NamedTuple):
    first: int
    size: int


class ProducerIds:
    """A block is this node's alone before the first of it is used; a crash loses the rest."""

    def __init__(self, allocate: Callable[[], Awaitable[Block]]) -> None:
        self._allocate = allocate
        self._next = 0
        self._end = 0
        self._allocating = asyncio.Lock()

    async def next(self) -> int:
        """Raises what `allocate` does; nothing is handed out then."""
        async with self._allocating:
            if self._next == self._end:
                block = await self._allocate()
                self._next, self._end = block.first, block.first + block.size
            handed_out = self._next
            self._next += 1
            return handed_out
