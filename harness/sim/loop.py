"""An asyncio loop in virtual time: nothing waits, nothing is left to threads or to hash order.

Time stands still while callbacks run and jumps to the next timer when none is left. Each life has
a queue of its own, first in, first out, as asyncio promises. Which of several lives goes first at
the same instant is a decision. Kernel events (a message arrives, a fault strikes) belong to no
life: they are plain calls at an instant, and no crash or pause stops them.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import socket
import sys
import threading
from asyncio import events
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from harness.decisions import Decisions
from harness.sim.handles import Cause, Fired, ReadyHandle, SimFuture, SimTask, SimTimer
from harness.sim.lives import Life, current_life

if TYPE_CHECKING:
    from harness.sim.transports import StockCalls

NS = 1_000_000_000
CALLBACKS_PER_INSTANT_MAX = 1_000_000
OUTSIDE = "outside"
"""The host of whatever runs in no node: the harness itself."""

_TIMERS_BEFORE_CLEANING = 512
_NEVER_S = 4e9
_NEVER_NS = int(_NEVER_S) * NS
"""Some timers are set for the end of all days. No run lasts a century."""

_Result = TypeVar("_Result")


class SimulationError(Exception):
    """The run cannot go on."""


class DeadlockError(SimulationError):
    """Nothing will ever happen again, and the main coroutine has not ended."""


class LivelockError(SimulationError):
    """A process goes on and on without letting time pass."""


class DeadlineError(SimulationError):
    """The main coroutine had not ended when the run's time was up."""


class SimLoop(asyncio.BaseEventLoop):
    def __init__(self, decisions: Decisions | None = None) -> None:
        super().__init__()
        self.decisions = decisions or Decisions(0)
        self.now_ns = 0
        self.cause: Cause = 0
        """The event that led to what runs now; callbacks inherit it from whoever scheduled them."""
        self.callbacks = 0
        self.errors: list[dict[str, Any]] = []
        """What asyncio would have logged: exceptions that nobody took."""
        self.numbers = itertools.count(1)
        self.lives: list[Life] = []
        self.outside = self.begin_life(OUTSIDE)
        self.is_over = False
        self.stock_calls: StockCalls | None = None
        self._stopping = False
        self._sequence = itertools.count()
        self._heap: list[tuple[Any, ...]] = []
        self._cancelled_timers = 0
        self._enlisted: list[Life] = []
        self._next: list[Callable[[], object]] = []
        self.set_exception_handler(_remember_error)

    # Lives

    def begin_life(self, host: str) -> Life:
        number = 1 + sum(1 for life in self.lives if life.host == host)
        life = Life(host, number)
        self.lives.append(life)
        return life

    def crash(self, life: Life) -> None:
        """At once, and without a word to the process: no clean-up of its runs, now or later."""
        life.is_dead = True
        life.set_aside()

    def pause(self, life: Life) -> None:
        if not life.is_dead and not life.is_paused:
            life.is_paused = True
            life.set_aside()

    def resume(self, life: Life) -> None:
        """What became ready meanwhile, timers among it, runs now and in that order."""
        if not life.is_dead and life.is_paused:
            life.is_paused = False
            self._enlisted.append(life)

    def present_life(self) -> Life:
        """Whose code runs now."""
        life = current_life.get(None)
        return self.outside if life is None else life

    # Scheduling

    def time(self) -> float:
        return self.now_ns / NS

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        if context is None:
            context = copy_context()
            life = current_life.get(None)
        else:
            life = context.get(current_life)
        if life is None:
            life = self.outside
        handle = ReadyHandle(callback, args, context, self.cause)
        life.ready.append(handle)
        if not life.is_enlisted:
            life.is_enlisted = True
            self._enlisted.append(life)
        return handle

    call_soon_threadsafe = call_soon  # type: ignore[assignment]

    def call_later(  # type: ignore[override]
        self,
        delay: float,
        callback: Callable[..., Any],
        *args: Any,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        # Rounded up: whoever waits for the rest of a nanosecond must not wait for ever.
        delay_ns = max(0, math.ceil(delay * NS)) if delay < _NEVER_S else _NEVER_NS
        return self._call_at_ns(self.now_ns + delay_ns, callback, args, context)

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., Any],
        *args: Any,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        when_ns = math.ceil(when * NS) if when < _NEVER_S else _NEVER_NS
        if when_ns / NS < when:
            # The product was rounded down. Fired now, the timer would find its time not yet come,
            # and whoever waits for that time would set it again and again.
            when_ns += 1
        return self._call_at_ns(when_ns, callback, args, context)

    def _call_at_ns(
        self, when_ns: int, callback: Callable[..., Any], args: Any, context: Context | None
    ) -> SimTimer:
        if context is None:
            context = copy_context()
            life = current_life.get(None)
        else:
            life = context.get(current_life)
        if life is None:
            life = self.outside
        timer = SimTimer(when_ns / NS, callback, args, self, context, life)
        if when_ns < _NEVER_NS and not self.is_over:
            heappush(self._heap, (max(when_ns, self.now_ns), next(self._sequence), timer))
        return timer

    def call_kernel(self, when_ns: int, event: Callable[[Any], object], argument: Any) -> None:
        """An event of the world and not of a process. What it raises ends the run."""
        heappush(
            self._heap,
            (max(when_ns, self.now_ns), next(self._sequence), None, event, argument),
        )

    def call_next(self, look: Callable[[], object]) -> None:
        """Right after what runs now, whatever that does to its life. What it raises ends the run.

        For onlookers: they see the state between two callbacks, as every process does.
        """
        self._next.append(look)

    def call_in_life(
        self, life: Life, context: Context, cause: Cause, callback: Callable[..., Any], *args: Any
    ) -> None:
        """What the kernel tells a process: soon, behind what is ready in it already."""
        life.ready.append(ReadyHandle(callback, args, context, cause))
        if not life.is_enlisted:
            life.is_enlisted = True
            self._enlisted.append(life)

    def timer_cancelled(self) -> None:
        self._cancelled_timers += 1
        if self._cancelled_timers > _TIMERS_BEFORE_CLEANING:
            if self._cancelled_timers > len(self._heap) // 2:
                self._heap[:] = [e for e in self._heap if e[2] is None or not e[2].cancelled()]
                heapify(self._heap)
            self._cancelled_timers = 0

    def create_future(self) -> asyncio.Future[Any]:
        return SimFuture(loop=self)

    def create_task(  # type: ignore[override]
        self,
        coro: Coroutine[Any, Any, _Result],
        *,
        name: str | None = None,
        context: Context | None = None,
    ) -> asyncio.Task[_Result]:
        task = SimTask(coro, loop=self, name=name, context=context)
        life = current_life.get(None) if context is None else context.get(current_life)
        (life or self.outside).keep(task)
        return task

    # Running

    def run_main(self, main: Coroutine[Any, Any, _Result], *, deadline_s: float) -> _Result:
        """Until `main` ends. All else that still runs then is left as it is."""
        task = self.create_task(main)
        self.call_kernel(math.ceil(deadline_s * NS), self._check_ended, task)
        return self.run_until_complete(task)

    def _check_ended(self, main: asyncio.Task[Any]) -> None:
        if not main.done():
            raise DeadlineError(f"the main coroutine had not ended at {self.time()} s")

    def run_forever(self) -> None:
        self._check_closed()  # type: ignore[attr-defined]
        self._check_running()  # type: ignore[attr-defined]
        hooks = sys.get_asyncgen_hooks()
        self._thread_id = threading.get_ident()
        sys.set_asyncgen_hooks(
            firstiter=self._asyncgen_firstiter_hook,  # type: ignore[attr-defined]
            finalizer=self._asyncgen_finalizer_hook,
        )
        events._set_running_loop(self)
        try:
            while not self._stopping:
                self._run_instant()
        finally:
            self._stopping = False
            self._thread_id = None  # type: ignore[assignment]
            events._set_running_loop(None)
            sys.set_asyncgen_hooks(*hooks)

    def _run_instant(self) -> None:
        """All that is ready; then what is due at the next instant becomes ready."""
        enlisted = self._enlisted
        while enlisted:
            life = enlisted.pop() if len(enlisted) == 1 else self._break_tie(enlisted)
            if not (life.is_dead or life.is_paused):
                self._run_life(life)
                if self._stopping:
                    return
        heap = self._heap
        if not heap:
            raise DeadlockError(self._deadlock())
        now_ns = self.now_ns = heap[0][0]
        while heap and heap[0][0] == now_ns:
            entry = heappop(heap)
            timer = entry[2]
            if timer is None:
                self.cause = 0
                entry[3](entry[4])
                if self._next:
                    self._run_next()
            elif timer._callback is not None:
                self._fire(timer)

    def _fire(self, timer: SimTimer) -> None:
        life, cause = timer.life, timer.cause
        timer.cause = Fired(
            self.now_ns, cause.settled if isinstance(cause, Fired) else cause, life.host
        )
        life.ready.append(timer)
        if not life.is_enlisted:
            life.is_enlisted = True
            self._enlisted.append(life)

    def _break_tie(self, enlisted: list[Life]) -> Life:
        """By time, not by a count of ties: other ties do not change this one."""
        decide, now_ns = self.decisions.of, self.now_ns
        first = min(enlisted, key=lambda life: decide("tie", life.host).at(now_ns))
        enlisted.remove(first)
        return first

    def _run_life(self, life: Life) -> None:
        ready = life.ready
        take = ready.popleft
        for count in range(CALLBACKS_PER_INSTANT_MAX):  # noqa: B007
            if not ready:
                break
            handle = take()
            callback = handle._callback
            if callback is not None:
                self.cause = handle.cause
                try:
                    handle._context.run(callback, *handle._args)
                except (SystemExit, KeyboardInterrupt):
                    raise
                except BaseException as error:
                    self._callback_failed(handle, error)
                if self._next:
                    self._run_next()
        else:
            raise LivelockError(
                f"{life.name} ran {CALLBACKS_PER_INSTANT_MAX} callbacks at {self.time()} s "
                "without letting time pass; look for a loop that awaits nothing but sleep(0)"
            )
        self.callbacks += count
        if life.ready is ready:
            life.is_enlisted = False

    def _run_next(self) -> None:
        looks, self._next = self._next, []
        for look in looks:
            look()

    def _callback_failed(self, handle: ReadyHandle | SimTimer, error: BaseException) -> None:
        if isinstance(error, SimulationError):
            raise error
        self.call_exception_handler(
            {"message": f"exception in {handle!r}", "exception": error, "handle": handle}
        )

    def _deadlock(self) -> str:
        paused = [life.name for life in self.lives if life.is_paused and not life.is_dead]
        told = f"nothing is scheduled any more at {self.time()} s"
        if paused:
            told += f"; paused for ever: {', '.join(paused)}"
        waiting = [task.get_name() for task in self.outside.unfinished_tasks()]
        return f"{told}; outside of nodes wait: {', '.join(waiting) or 'nobody'}"

    def _asyncgen_finalizer_hook(self, agen: Any) -> None:
        if not self.is_over:
            super()._asyncgen_finalizer_hook(agen)  # type: ignore[misc]

    # asyncio's own networking

    async def create_connection(
        self,
        protocol_factory: Callable[[], Any],
        host: str | None = None,
        port: int | None = None,
        **options: Any,
    ) -> Any:
        return await self._calls().create_connection(protocol_factory, host, port, options)

    async def create_server(
        self,
        protocol_factory: Callable[[], Any],
        host: Any = None,
        port: Any = None,
        **options: Any,
    ) -> Any:
        return await self._calls().create_server(protocol_factory, host, port, options)

    async def getaddrinfo(self, host: Any, port: Any, **options: Any) -> Any:
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (host, port))]

    def _calls(self) -> StockCalls:
        if self.stock_calls is None:
            raise SimulationError("this loop has no network; make one with StockCalls")
        return self.stock_calls

    # What a simulated process cannot have

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Any, *args: Any
    ) -> NoReturn:
        raise SimulationError(
            f"{func!r} wants a thread, and the simulator has none: its end would depend on the "
            "machine; hand the code something to await instead"
        )

    get_debug = staticmethod(bool)
    """False, and at no cost: asyncio asks for each future and each task."""

    def set_debug(self, enabled: bool) -> None:
        """Never: it would slow every callback down, and the trace tells more."""
        self._debug = False

    def _process_events(self, event_list: Any) -> None:
        raise AssertionError("there is no selector")

    def _write_to_self(self) -> None:
        raise AssertionError("there are no threads")


def _remember_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    assert isinstance(loop, SimLoop)
    if not loop.is_over:
        loop.errors.append(context)
