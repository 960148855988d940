"""Work on many logs, of which each waits for the disk: a few at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import TypeVar

AT_ONCE = 16
"""Syncs that come together cost a journal one write, and the disk has few threads anyway."""

_Item = TypeVar("_Item")


async def side_by_side(items: Collection[_Item], work: Callable[[_Item], Awaitable[None]]) -> None:
    """Begun in their order. After a failure none is begun, and what was begun is cancelled."""
    waiting = iter(items)

    async def go_on() -> None:
        for item in waiting:
            await work(item)

    workers = [asyncio.create_task(go_on()) for _ in range(min(AT_ONCE, len(items)))]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
