"""What the simulator's loop keeps for each callback, task and future. Made for speed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from harness.sim.lives import Life
    from harness.sim.loop import SimLoop

_Result = TypeVar("_Result")


class Fired:
    """A timer that went off: becomes a row of the trace only when something comes of it."""

    __slots__ = ("cause", "node", "row", "time_ns")

    def __init__(self, time_ns: int, cause: int, node: str) -> None:
        self.time_ns = time_ns
        self.cause = cause
        self.node = node
        self.row = 0

    @property
    def settled(self) -> int:
        return self.row or self.cause


Cause = int | Fired


class ReadyHandle(asyncio.Handle):
    """A callback in a life's queue. The parent's constructor is slow, and not called."""

    __slots__ = ("cause",)

    _callback: Callable[..., Any] | None
    _args: tuple[Any, ...]

    def __init__(
        self, callback: Callable[..., Any], args: tuple[Any, ...], context: Context, cause: Cause
    ) -> None:
        self._callback = callback
        self._args = args
        self._context = context
        self.cause = cause

    def __repr__(self) -> str:
        return f"<ready: {self._callback!r}>"

    def cancel(self) -> None:
        self._callback = None
        self._args = ()

    def cancelled(self) -> bool:
        return self._callback is None


class SimTimer(asyncio.TimerHandle):
    """A callback in the loop's heap, and later in a life's queue, where it is run like others."""

    __slots__ = ("cause", "life")

    _callback: Callable[..., Any] | None
    _args: tuple[Any, ...]
    _loop: SimLoop

    def __init__(
        self,
        when: float,
        callback: Callable[..., Any],
        args: tuple[Any, ...],
        loop: SimLoop,
        context: Context,
        life: Life,
    ) -> None:
        self._when = when
        self._callback = callback
        self._args = args
        self._loop = loop
        self._context = context
        self.life = life
        self.cause: Cause = loop.cause

    def __repr__(self) -> str:
        return f"<timer of {self.life.name} at {self._when}: {self._callback!r}>"

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def cancel(self) -> None:
        if self._callback is not None:
            self._callback = None
            self._args = ()
            self._loop.timer_cancelled()

    def cancelled(self) -> bool:
        return self._callback is None


class SimFuture(asyncio.Future[_Result]):
    """Numbered when first put into a set, so that the set's order is the same in every process."""

    _number = 0

    def __hash__(self) -> int:
        return self._number or _numbered(self)


class SimTask(asyncio.Task[_Result]):
    """asyncio itself keeps sets of tasks; numbered like futures."""

    _number = 0

    def __hash__(self) -> int:
        return self._number or _numbered(self)


def _numbered(future: SimFuture[Any] | SimTask[Any]) -> int:
    number: int = next(future.get_loop().numbers)  # type: ignore[attr-defined]
    future._number = number
    return number
