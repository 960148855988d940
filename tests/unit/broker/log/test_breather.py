"""A long task lets others have their turn, and so do many that share one breather."""

from __future__ import annotations

import asyncio
import time

from broker.log.breather import Breather

SLICE_MS = 5.0


def work_a_little() -> None:
    until = time.perf_counter() + 0.001
    while time.perf_counter() < until:
        pass


async def longest_wait_beside(workers: int) -> float:
    """Seconds that anybody else waits for a turn, at worst."""
    breather = Breather(SLICE_MS)

    async def work() -> None:
        for _ in range(100 // workers):
            work_a_little()
            await breather.pause()

    working = asyncio.gather(*(work() for _ in range(workers)))
    longest, before = 0.0, time.thread_time()
    while not working.done():
        await asyncio.sleep(0)
        longest, before = max(longest, time.thread_time() - before), time.thread_time()
    return longest


async def test_those_who_share_a_breather_share_its_slices() -> None:
    alone = await longest_wait_beside(1)
    assert alone < 4 * SLICE_MS / 1000
    # Each goes on for one step after the slice, and not for a slice of its own.
    assert await longest_wait_beside(10) < (3 * SLICE_MS + 10 * 1) / 1000
