"""Work that waits goes on side by side, in bounded company, and stops when one fails."""

from __future__ import annotations

import asyncio

import pytest

from broker.log.side_by_side import AT_ONCE, side_by_side


async def test_all_are_done_and_only_so_many_at_once() -> None:
    begun: list[int] = []
    at_work = most = 0

    async def work(item: int) -> None:
        nonlocal at_work, most
        begun.append(item)
        at_work += 1
        most = max(most, at_work)
        await asyncio.sleep(0)
        at_work -= 1

    await side_by_side(range(5 * AT_ONCE), work)
    assert begun == list(range(5 * AT_ONCE))
    assert most == AT_ONCE


async def test_the_first_failure_is_told_and_nothing_goes_on_after_it() -> None:
    done: list[int] = []

    async def work(item: int) -> None:
        if item == 3:
            raise OSError("no room")
        await asyncio.sleep(0.001 if item < AT_ONCE else 0)
        done.append(item)

    with pytest.raises(OSError, match="no room"):
        await side_by_side(range(5 * AT_ONCE), work)
    before = list(done)
    await asyncio.sleep(0.01)
    assert done == before
    assert len(done) < AT_ONCE


async def test_nothing_to_do_is_done() -> None:
    async def work(item: int) -> None:
        raise AssertionError(item)

    await side_by_side([], work)
