"""Hands out producer ids, none of them twice, also across a crash."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from broker.metadata.changes import Change, ProducerIdsAllocated
from broker.metadata.image import Image

BLOCK = 1000


class ProducerIds:
    """A block of ids is made durable before the first of it is used; a crash loses the rest."""

    def __init__(
        self,
        image: Image,
        change: Callable[[Callable[[], Sequence[Change]]], Awaitable[None]],
    ) -> None:
        self._image = image
        self._change = change
        self._next = 0
        self._end = 0
        self._allocating = asyncio.Lock()

    async def next(self) -> int:
        """Raises OSError when no block can be made durable; nothing is handed out then."""
        async with self._allocating:
            if self._next == self._end:
                first = self._image.next_producer_id
                await self._change(lambda: [ProducerIdsAllocated(first + BLOCK)])
                self._next, self._end = first, first + BLOCK
            handed_out = self._next
            self._next += 1
            return handed_out
