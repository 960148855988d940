"""Those who wait for something to change: woken all at once, in the order in which they came."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

EVER = float("inf")


class Watchers:
    __slots__ = ("_called", "_waiting")

    def __init__(self) -> None:
        self._waiting: dict[asyncio.Future[None], None] = {}
        self._called: dict[Callable[[], None], None] = {}

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def wake(self) -> None:
        if self._waiting:
            waiting, self._waiting = self._waiting, {}
            for each in waiting:
                if not each.done():
                    each.set_result(None)
        if self._called:
            for call in list(self._called):
                call()

    def call(self, call: Callable[[], None]) -> None:
        """In the very moment of each change, until `call_no_more`."""
        self._called[call] = None

    def call_no_more(self, call: Callable[[], None]) -> None:
        self._called.pop(call, None)

    def add(self, waiting: asyncio.Future[None]) -> None:
        self._waiting[waiting] = None

    def remove(self, waiting: asyncio.Future[None]) -> None:
        self._waiting.pop(waiting, None)


async def wait_for_any(watched: Iterable[Watchers], until: float) -> None:
    """Returns when one of them was woken, or when the loop's time is `until`."""
    loop = asyncio.get_running_loop()
    woken: asyncio.Future[None] = loop.create_future()
    timer = None if until == EVER else loop.call_at(until, _set, woken)
    every = list(watched)
    for each in every:
        each.add(woken)
    try:
        await woken
    finally:
        if timer is not None:
            timer.cancel()
        for each in every:
            each.remove(woken)


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
