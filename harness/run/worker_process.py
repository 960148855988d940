"""One client worker as its run sees it: started, given orders, listened to, ended."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness.client.traffic import Traffic
from harness.cluster.base import Place
from harness.cluster.process_table import is_alive, is_stopped, living_members
from harness.cluster.waiting import wait_until
from harness.history.op import BACKGROUND
from harness.run.frames import ROW, TRAFFIC, Begin, Order, WorkerFrameReader, order_line

_PIPE_BYTES = 1 << 20
_READ_BYTES = 1 << 18
_SIGNAL_WITHIN_S = 10.0
_LOOK_EVERY_S = 0.01
_ENVIRONMENT = {"MALLOC_ARENA_MAX": "2"}
"""librdkafka has a thread for each broker, and glibc by default an arena for nearly each thread,
which keeps the most that it ever held. With two arenas the memory of a worker stays flat."""

RowFrame = list[Any]


class WorkerProcess:
    def __init__(
        self,
        place: Place,
        begin: Begin,
        log: Path,
        on_row: Callable[[RowFrame], None],
        on_end: Callable[[WorkerProcess], None],
        on_traffic: Callable[[int, Traffic], None],
    ) -> None:
        """`on_end` is called when it has ended by itself, or was killed by somebody else."""
        self.number = begin.number
        self.process = begin.process
        """Of its last invocation."""
        self.invocations = 0
        self.completed = 0
        """Operations that came to an end; an assign asks nobody, so it is none of them."""
        self.failure: str | None = None
        """What it could not go on with; who is killed has no time to tell."""
        self.is_to_stand_still = False
        self.is_idle = False
        self._on_row = on_row
        self._on_end = on_end
        self._on_traffic = on_traffic
        self._loop = asyncio.get_running_loop()
        self._news: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        self._frames = WorkerFrameReader()
        self._ending: asyncio.Future[None] | None = None
        with log.open("ab") as stderr:
            self._popen = subprocess.Popen(
                place.client_command([sys.executable, "-m", "harness.run.worker"]),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env={**_ENVIRONMENT, **os.environ},
                start_new_session=True,
            )
        assert self._popen.stdout is not None
        self._stdout = self._popen.stdout.fileno()
        with suppress(PermissionError):  # beyond what a user may have, the usual size has to do
            fcntl.fcntl(self._stdout, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        os.set_blocking(self._stdout, False)
        self.is_open = True
        self._loop.add_reader(self._stdout, self._read)
        self.order(begin)

    def order(self, order: Order) -> None:
        assert self._popen.stdin is not None
        if not self.is_open:
            return
        with suppress(BrokenPipeError):
            self._popen.stdin.write(order_line(order))
            self._popen.stdin.flush()

    async def until(self, what: str) -> Any:
        """What it says when it has done what it was told, or None if it has ended instead."""
        while True:
            said, detail = await self._news.get()
            if said == what:
                return detail
            if said == "ended":
                self._news.put_nowait((said, detail))
                return None

    def _read(self) -> None:
        try:
            data = os.read(self._stdout, _READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            self._ended()
            return
        self._take(data)

    def _take(self, data: bytes) -> None:
        on_row = self._on_row
        for frame in self._frames.feed(data):
            if frame[0] == ROW:
                if frame[3] == "invoke":
                    if frame[2] < BACKGROUND:
                        self.process = frame[2]
                    self.invocations += 1
                elif frame[4] not in ("assign", "subscribe"):
                    self.completed += 1
                on_row(frame)
            elif frame[0] == TRAFFIC:
                self._on_traffic(self.number, Traffic.read(frame[1]))
            elif frame[1] == "failed":
                self.failure = frame[2]
            elif frame[1] == "idle":
                self.is_idle = frame[2]
            else:
                self._news.put_nowait((frame[1], frame[2]))

    def _ended(self) -> None:
        """It has closed its pipe, so it is on its way; a thread waits for the rest of it."""
        self._loop.remove_reader(self._stdout)
        self._ending = self._loop.run_in_executor(None, self._see_it_end)
        self._ending.add_done_callback(lambda _: self._bury())

    def _see_it_end(self) -> None:
        """Blocks, but not for ever: one that waits for a disk outlives any signal."""
        if not self._ends_in_time():
            self._kill_group()
            self._ends_in_time()

    def _ends_in_time(self) -> bool:
        # The bound is the thread's own: one around an await would leave the thread behind.
        try:
            self._popen.wait(_SIGNAL_WITHIN_S)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _kill_group(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._popen.pid, signal.SIGKILL)

    def _bury(self) -> None:
        if self.is_open:
            self._forget()
            self._news.put_nowait(("ended", None))
            self._on_end(self)

    def _forget(self) -> None:
        self.is_open = False
        self._loop.remove_reader(self._stdout)
        if self._ending is not None:
            self._ending.cancel()
        for pipe in (self._popen.stdin, self._popen.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()

    @property
    def why_ended(self) -> str:
        """Reason why the process ended: its own message, signal or exit code."""
        if self.failure is not None:
            return self.failure
        code = self._popen.returncode
        if code is None:
            return "it closed its pipe and survived every signal"
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"

    @property
    def pid(self) -> int:
        return self._popen.pid

    def is_running(self) -> bool:
        """Whether the process is alive and its pipe is open."""
        return self.is_open and is_alive(self.pid)

    async def is_paused(self) -> bool:
        """Whether every thread of the process and its children is stopped."""
        return self.is_open and await asyncio.to_thread(_are_stopped, self.pid)

    async def kill(self) -> None:
        """Return when the process has ended and its last output has been read."""
        await self._signal(signal.SIGKILL, lambda: not self.is_open, "has ended")

    async def pause(self) -> None:
        """Suspend the process; also returns if it has ended meanwhile."""
        self.is_to_stand_still = True
        await self._signal(
            signal.SIGSTOP, lambda: not self.is_open or is_stopped(self.pid), "is stopped"
        )

    async def resume(self) -> None:
        self.is_to_stand_still = False
        await self._signal(signal.SIGCONT, lambda: not is_stopped(self.pid), "continues")

    async def _signal(self, number: signal.Signals, is_done: Callable[[], bool], what: str) -> None:
        if not self.is_open:
            return
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)

        async def is_seen() -> bool:
            return is_done()

        what = f"the process of client {self.number + 1} {what}"
        await wait_until(is_seen, within_s=_SIGNAL_WITHIN_S, what=what, every_s=_LOOK_EVERY_S)

    async def close(self) -> None:
        """At once, and with all it started. What it said before is heard."""
        if not self.is_open:
            return
        self.is_open = False
        self._loop.remove_reader(self._stdout)
        self._kill_group()
        # One that waits for a disk survives that; what it has said is read all the same. The pool
        # may have no thread left for it.
        with suppress(TimeoutError):
            async with asyncio.timeout(_SIGNAL_WITHIN_S):
                await self._loop.run_in_executor(None, self._ends_in_time)
        with suppress(BlockingIOError):
            while data := os.read(self._stdout, _READ_BYTES):
                self._take(data)
        self._forget()
        self._news.put_nowait(("ended", None))


def _are_stopped(group: int) -> bool:
    members = living_members(group)
    return bool(members) and all(map(is_stopped, members))
