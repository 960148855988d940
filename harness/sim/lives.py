"""One life of one process: what is ready to run in it, and which tasks it has.

A machine that crashes and starts again has a second life. Everything that a process does carries
its life in a context variable, so the loop knows whose callback it holds: the callbacks of a life
that ended are never run, those of a paused one wait in order.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextvars import Context, ContextVar, copy_context
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.sim.handles import ReadyHandle, SimTimer

current_life: ContextVar[Life] = ContextVar("current_life")
"""Not set outside of nodes and clients."""

_PRUNE_AT_LEAST = 256


class Life:
    """Made by `SimLoop.begin_life`. Its `ready` queue belongs to the loop."""

    __slots__ = ("_prune_at", "_tasks", "host", "is_dead", "is_enlisted", "is_paused", "number",
                 "ready")  # fmt: skip

    def __init__(self, host: str, number: int) -> None:
        self.host = host
        self.number = number
        self.is_dead = False
        self.is_paused = False
        self.ready: deque[ReadyHandle | SimTimer] = deque()
        self.is_enlisted = False
        """The loop knows of it, or must not: so it is for a paused life and for a dead one."""
        self._tasks: list[asyncio.Task[Any]] = []
        self._prune_at = _PRUNE_AT_LEAST

    def __repr__(self) -> str:
        return f"<life {self.name}>"

    @property
    def name(self) -> str:
        return f"{self.host}/{self.number}"

    def context(self) -> Context:
        """A copy of the present one in which everything belongs to this life."""
        context = copy_context()
        context.run(current_life.set, self)
        return context

    def keep(self, task: asyncio.Task[Any]) -> None:
        """A task that only a dead process knew would be collected, and its clean-up would run."""
        tasks = self._tasks
        tasks.append(task)
        if len(tasks) > self._prune_at:
            # A failed one stays until somebody has taken notice: whoever waits may be late.
            self._tasks = tasks = [each for each in tasks if not each.done() or is_untold(each)]
            self._prune_at = max(_PRUNE_AT_LEAST, 2 * len(tasks))

    def unfinished_tasks(self) -> list[asyncio.Task[Any]]:
        return [task for task in self._tasks if not task.done()]

    def untold_failures(self) -> list[asyncio.Task[Any]]:
        """Tasks that failed, and whose errors were never asked for."""
        return [each for each in self._tasks if is_untold(each)]

    def set_aside(self) -> None:
        """Whoever runs the queue at this moment finds it empty; what is in it is kept."""
        kept = deque(self.ready)
        self.ready.clear()
        self.ready = kept
        self.is_enlisted = True


def is_untold(task: asyncio.Task[Any]) -> bool:
    return task.done() and task._log_traceback
