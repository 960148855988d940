"""The watchdog: a loop that stands still leaves the stacks of all threads behind."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

from harness.run.interrupts import Interrupts
from harness.run.watchdog import NAME, Watchdog, stacks_on_request


def stands_still_for(seconds: float) -> None:
    threading.Event().wait(seconds)


async def test_a_loop_that_stands_still_writes_every_stack(tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()
    with stacks_on_request(tmp_path) as log, Watchdog(log, loop, stalled_s=0.1):
        await asyncio.sleep(0)
        stands_still_for(1.8)
        await asyncio.sleep(0.1)
    told = (tmp_path / NAME).read_text()
    assert "the event loop of the run has been blocked for 0.1 s" in told
    assert "in stands_still_for" in told
    assert f"thread {os.getpid()}: comm " in told
    assert "has been blocked for 0.2 s" in told, "again after twice as long"
    assert "the event loop continues after" in told.splitlines()[-1]


def test_a_loop_that_stands_still_while_it_closes_is_watched_too(tmp_path: Path) -> None:
    async def blocks_at_the_end() -> AsyncIterator[None]:
        try:
            yield
        finally:
            stands_still_for(1.8)

    left_open = blocks_at_the_end()

    async def main() -> None:
        await anext(left_open)

    with stacks_on_request(tmp_path) as log:
        Interrupts().run(main(), lambda loop: Watchdog(log, loop, stalled_s=0.1))
    assert "in stands_still_for" in (tmp_path / NAME).read_text()


async def test_a_loop_that_moves_leaves_nothing(tmp_path: Path) -> None:
    with stacks_on_request(tmp_path) as log, Watchdog(log, asyncio.get_running_loop()):
        await asyncio.sleep(0.05)
    assert not (tmp_path / NAME).exists()


def test_a_signal_asks_for_the_stacks_at_any_moment(tmp_path: Path) -> None:
    with stacks_on_request(tmp_path):
        os.kill(os.getpid(), signal.SIGUSR1)
        time.sleep(0.01)
    assert "test_a_signal_asks_for_the_stacks" in (tmp_path / NAME).read_text()
