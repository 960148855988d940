"""The end of a run: whatever still waits is put away, and nothing it does on the way counts.

A coroutine that is dropped runs its `finally` blocks. Those of crashed processes must never take
part in the run, so they are held until here, and closed while the loop takes no more work.
"""

from __future__ import annotations

import warnings
from asyncio import Task, events
from contextlib import suppress
from inspect import CORO_CLOSED, getcoroutinestate, iscoroutine
from typing import Any

from harness.sim.loop import SimLoop

_ROUNDS_MAX = 100
"""Some clean-up awaits again and again; each time it is told to end."""


def dispose(loop: SimLoop) -> None:
    loop.is_over = True
    for life in loop.lives:
        loop.crash(life)
    running = events._get_running_loop()
    events._set_running_loop(loop)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _close_all(loop)
    finally:
        events._set_running_loop(running)
    loop.close()


def _close_all(loop: SimLoop) -> None:
    """Round by round, because clean-up may start new tasks."""
    closed: set[int] = set()
    for _ in range(_ROUNDS_MAX):
        tasks = [task for life in loop.lives for task in life.unfinished_tasks()]
        fresh = [task for task in tasks if id(task) not in closed]
        if not fresh:
            return
        for task in fresh:
            closed.add(id(task))
            _close(task)


def _close(task: Task[Any]) -> None:
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    coroutine: Any = task.get_coro()
    for _ in range(_ROUNDS_MAX):
        with suppress(BaseException):  # told to end again; nobody is left to be told
            _innermost(coroutine).close()
        if getcoroutinestate(coroutine) == CORO_CLOSED:
            return


def _innermost(coroutine: Any) -> Any:
    """The one at the end of the chain of awaits. It is closed before those that wait for it: they
    drop it when they end, and Python complains of a coroutine that awaits while it is dropped."""
    while True:
        inner = coroutine.cr_await
        if not iscoroutine(inner) or getcoroutinestate(inner) == CORO_CLOSED:
            return coroutine
        coroutine = inner
