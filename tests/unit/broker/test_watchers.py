"""Those who wait are woken once, together and in order; time wakes them, too."""

from __future__ import annotations

import asyncio

import pytest

from broker.watchers import EVER, Watchers, wait_for_any
from tests.virtual_time import in_virtual_time


def now() -> float:
    return asyncio.get_running_loop().time()


@in_virtual_time
async def test_all_are_woken_in_the_order_in_which_they_came() -> None:
    watchers, woken = Watchers(), list[int]()

    async def wait(number: int) -> None:
        await wait_for_any([watchers], EVER)
        woken.append(number)

    waiting = [asyncio.ensure_future(wait(number)) for number in range(5)]
    await asyncio.sleep(1)
    assert woken == []
    watchers.wake()
    await asyncio.gather(*waiting)
    assert woken == [0, 1, 2, 3, 4]


@in_virtual_time
async def test_a_wake_is_for_those_who_wait_and_not_for_later_ones() -> None:
    watchers = Watchers()
    watchers.wake()
    await wait_for_any([watchers], now() + 2.0)
    assert now() == pytest.approx(2.0)


@in_virtual_time
async def test_one_of_several_is_enough_and_nobody_is_left_behind() -> None:
    one, other = Watchers(), Watchers()
    asyncio.get_running_loop().call_later(1.0, other.wake)
    await wait_for_any([one, other], EVER)
    assert now() == pytest.approx(1.0)
    assert not one
    assert not other


@in_virtual_time
async def test_time_wakes_and_leaves_nothing_behind() -> None:
    watchers = Watchers()
    await wait_for_any([watchers], now() + 3.0)
    assert now() == pytest.approx(3.0)
    assert not watchers
    await wait_for_any([watchers], now() - 1.0)
    assert now() == pytest.approx(3.0)


@in_virtual_time
async def test_who_gives_up_waits_no_longer() -> None:
    watchers = Watchers()
    waiting = asyncio.ensure_future(wait_for_any([watchers], EVER))
    await asyncio.sleep(0.1)
    assert watchers
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not watchers
    watchers.wake()


@in_virtual_time
async def test_who_waits_again_at_once_is_not_woken_by_the_same_wake() -> None:
    watchers, rounds = Watchers(), 0

    async def wait() -> None:
        nonlocal rounds
        while True:
            await wait_for_any([watchers], EVER)
            rounds += 1

    waiting = asyncio.ensure_future(wait())
    for expected in (1, 2, 3):
        await asyncio.sleep(0.1)
        watchers.wake()
        await asyncio.sleep(0.1)
        assert rounds == expected
    waiting.cancel()


@in_virtual_time
async def test_who_wants_to_be_called_is_called_at_each_change_until_it_has_enough() -> None:
    watchers, called = Watchers(), list[float]()

    def call() -> None:
        called.append(now())

    watchers.call(call)
    watchers.wake()
    await asyncio.sleep(1)
    watchers.wake()
    watchers.call_no_more(call)
    watchers.wake()
    watchers.call_no_more(call)
    assert called == [0.0, 1.0]
