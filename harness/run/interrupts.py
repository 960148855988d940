"""Interrupts: the first ends a run in good order, the second ends it whatever it is doing.

The first one (Ctrl-C) cancels the run, which heals, keeps what it has and ends with 130. Later ones
never raise anything: an exception between two lines of the healing would leave it half done. They
are counted by a thread of their own, which the kernel's signal reaches through a pipe even while
the main thread is stuck in a lock or its loop stands still. At the second it gives the run
`FORCED_AFTER_S` to come to its end, at the third no time at all; then it heals by force, from
outside the loop, and ends the process.

Signals belong to a process, and so does `INTERRUPTS`, the one instance.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType
from typing import Any, TypeVar

from harness.errors import EXIT_INTERRUPTED
from harness.run.threads import RunThreads

FORCED_AFTER_S = 5.0
_HEALED_WITHIN_S = 20.0
_SHOW_CURSOR = "\x1b[?25h"

_Result = TypeVar("_Result")


class Interrupts:
    def __init__(self) -> None:
        self.count = 0
        self._generation = 0
        """Of commands in this process: interrupts of one say nothing about the next."""
        self._is_over = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._main: asyncio.Task[Any] | None = None
        self._heal_by_force: Callable[[], None] | None = None
        self._pipe: tuple[int, int] | None = None

    def install(self) -> None:
        """From now on interrupts of this process come here; the count begins anew.

        Not where they are ignored, as for a command in the background of a shell.
        """
        self.count = 0
        self._generation += 1
        self._is_over = False
        is_main = threading.current_thread() is threading.main_thread()
        if not is_main or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            return
        if self._pipe is None:
            self._pipe = os.pipe()
            for end in self._pipe:
                os.set_blocking(end, end == self._pipe[0])
            signal.set_wakeup_fd(self._pipe[1], warn_on_full_buffer=False)
            # A forked child would count its own interrupts as ours.
            os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))
            threading.Thread(target=self._listen, name="interrupts", daemon=True).start()
            # An interpreter that ends gives signals back to the kernel, which would end it by one.
            atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGINT, self._handle)

    def is_over(self) -> None:
        """The exit code stands: no interrupt changes it any more."""
        self._is_over = True

    def run(
        self,
        main: Coroutine[Any, Any, _Result],
        watched: Callable[[asyncio.AbstractEventLoop], AbstractContextManager[None]] | None = None,
    ) -> _Result:
        """asyncio.run, but that an interrupt cancels `main` and raises when all is ended.

        A thread that never returns does not hold it up. What `watched` makes is entered before the
        loop runs and left when it is closed.
        """

        async def noted() -> _Result:
            self._main = asyncio.current_task()
            try:
                return await main
            finally:
                self._main = None

        before = self.count
        try:
            runner = asyncio.Runner()
            loop = self._loop = runner.get_loop()
            loop.set_default_executor(RunThreads())
            with watched(loop) if watched is not None else nullcontext(), runner:
                result = runner.run(noted())
        except asyncio.CancelledError:
            if self.count == before:
                raise
            raise KeyboardInterrupt from None
        except Exception as failure:
            if self.count == before:
                raise
            raise KeyboardInterrupt from failure
        finally:
            self._loop = None
        if self.count > before:
            raise KeyboardInterrupt
        return result

    @contextmanager
    def healed_by(self, heal_by_force: Callable[[], None]) -> Iterator[None]:
        """Meanwhile this is what a forced end does first. It must not need the loop."""
        self._heal_by_force = heal_by_force
        try:
            yield
        finally:
            self._heal_by_force = None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if self.count > 1 or self._is_over:
            return
        loop, main = self._loop, self._main
        if loop is None:
            raise KeyboardInterrupt
        if main is not None:
            loop.call_soon_threadsafe(main.cancel)

    def _listen(self) -> None:
        """Counts by itself: the main thread may be too stuck to do so."""
        assert self._pipe is not None
        forced: threading.Timer | None = None
        seen, generation = 0, self._generation
        while numbers := os.read(self._pipe[0], 64):
            if self._generation != generation:
                seen, generation = 0, self._generation
            for number in numbers:
                if number != signal.SIGINT or self._is_over:
                    continue
                seen += 1
                if seen == 2:
                    forced = threading.Timer(FORCED_AFTER_S, self._force, [generation])
                    forced.daemon = True
                    forced.start()
                elif seen > 2:
                    if forced is not None:
                        forced.cancel()
                    self._force(generation)

    def _force(self, generation: int) -> None:
        if self._is_at_its_end(generation):
            return
        heal = self._heal_by_force
        if heal is not None:
            # In a thread of its own, and not for ever: the process ends in any case.
            healing = threading.Thread(target=heal, name="heal by force", daemon=True)
            healing.start()
            healing.join(_HEALED_WITHIN_S)
            if self._is_at_its_end(generation):
                return
        cursor = _SHOW_CURSOR if sys.stderr.isatty() else ""
        os.write(2, f"{cursor}interrupted twice: ended by force\n".encode())
        os._exit(EXIT_INTERRUPTED)

    def _is_at_its_end(self, generation: int) -> bool:
        """The command that was interrupted has its exit code, or another has begun since."""
        return self._is_over or self._generation != generation


INTERRUPTS = Interrupts()
