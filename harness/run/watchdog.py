"""Watches the loop of a run from outside: where it stands still, all stacks go to harness.log.

A loop that stands still can neither record nor heal nor hear an interrupt, and from outside nobody
sees why. The watchdog's thread asks for a sign of life every second. Where none comes for
`STALLED_S`, it writes the Python stack of every thread, and what the kernel says each waits for;
again after twice as long, and so on; and a line when the loop goes on. SIGUSR1 (`kill -USR1`)
writes the stacks at any moment of the run. A run without either leaves no harness.log.
"""

from __future__ import annotations

import asyncio
import faulthandler
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from harness.run.stacks import stacks_to_stderr

NAME = "harness.log"
STALLED_S = 5.0
_ASK_EVERY_S = 1.0
_TOLD = ("comm", "wchan", "syscall")


@contextmanager
def stacks_on_request(directory: Path) -> Iterator[TextIO]:
    """Meanwhile SIGUSR1 writes all stacks to harness.log, afterwards to standard error."""
    path = directory / NAME
    with path.open("a", encoding="utf-8") as log:
        faulthandler.register(signal.SIGUSR1, file=log, all_threads=True)
        try:
            yield log
        finally:
            # Not unregistered first: a signal in between would end the process.
            if not stacks_to_stderr():
                faulthandler.unregister(signal.SIGUSR1)
    with suppress(OSError):
        if path.stat().st_size == 0:
            path.unlink()


class Watchdog(AbstractContextManager[None]):
    """`with Watchdog(log, loop):` around all that the loop does, its closing included."""

    def __init__(
        self, log: TextIO, loop: asyncio.AbstractEventLoop, *, stalled_s: float = STALLED_S
    ) -> None:
        self._log = log
        self._stalled_s = stalled_s
        self._loop = loop
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()

    def _watch(self) -> None:
        while not self._is_over.wait(_ASK_EVERY_S):
            sign = threading.Event()
            try:
                self._loop.call_soon_threadsafe(sign.set)
            except RuntimeError:
                return  # the loop is closed
            self._await(sign)

    def _await(self, sign: threading.Event) -> None:
        begun_s, next_s = time.monotonic(), self._stalled_s
        has_stalled = False
        while not sign.wait(max(0.0, begun_s + next_s - time.monotonic())):
            if self._is_over.is_set():
                return
            has_stalled = True
            self._write(f"the event loop of the run has been blocked for {next_s:g} s")
            self._write_stacks()
            next_s *= 2
        if has_stalled:
            self._write(f"the event loop continues after {time.monotonic() - begun_s:.1f} s")

    def _write(self, line: str) -> None:
        with suppress(OSError, ValueError):  # a full store, or a log that was closed meanwhile
            self._log.write(f"{datetime.now(UTC).isoformat(timespec='milliseconds')} {line}\n")
            self._log.flush()

    def _write_stacks(self) -> None:
        with suppress(OSError, ValueError):
            faulthandler.dump_traceback(self._log, all_threads=True)
        for thread in sorted(Path("/proc/self/task").glob("*")):
            told = []
            for name in _TOLD:
                with suppress(OSError):
                    told.append(f"{name} {(thread / name).read_text().strip()}")
            self._write(f"thread {thread.name}: {', '.join(told)}")
