"""One process of this machine and all it starts: spawned, watched, broken, ended.

It leads a process group of its own, so that a terminal's Ctrl-C does not reach it and a kill takes
its children along. It is watched through a pidfd and reaped by nobody but us, so its number cannot
come to mean another process while we may still signal it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from harness.cluster.base import RunningProcess, Stream
from harness.cluster.errors import FaultMissedError, NotInTimeError
from harness.cluster.process_table import is_alive, is_stopped, living_members

_PATIENCE_S = 60.0
"""Nobody dies while the kernel waits for a disk on its behalf, and a busy disk takes its time."""
_POLL_S = 0.002
_OUTPUT_BYTES_MAX = 1 << 16


@cache
def death_warrant() -> tuple[str, ...]:
    """Has the kernel kill a process when ours dies without a chance to; it costs no other pid."""
    setpriv = shutil.which("setpriv")
    return (setpriv, "--pdeathsig", "KILL") if setpriv else ()


class LocalProcess:
    """Needs a running loop from its making to its end."""

    def __init__(self, argv: Sequence[str], *, cwd: Path, stdout: Path, stderr: Path) -> None:
        self._files = {"stdout": stdout, "stderr": stderr}
        with stdout.open("ab") as out, stderr.open("ab") as err:
            self._starts = {"stdout": out.tell(), "stderr": err.tell()}
            self._popen = subprocess.Popen(
                [*death_warrant(), *argv],
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[int] = self._loop.create_future()
        self._pidfd = os.pidfd_open(self.pid)
        self._loop.add_reader(self._pidfd, self._reap)

    @property
    def pid(self) -> int:
        return self._popen.pid

    def _reap(self) -> None:
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        # Until it is reaped the group is certainly ours: what it left behind goes with it.
        self._signal(signal.SIGKILL)
        self._ended.set_result(self._popen.wait())

    def _signal(self, number: signal.Signals) -> None:
        if not self._ended.done():
            with suppress(ProcessLookupError):
                os.killpg(self.pid, number)

    async def is_running(self) -> bool:
        return not self._ended.done() and is_alive(self.pid)

    async def is_paused(self) -> bool:
        return not self._ended.done() and is_stopped(self.pid)

    async def kill(self) -> None:
        self._signal(signal.SIGKILL)
        await self._until(self._is_gone, f"process {self.pid} survives SIGKILL")

    def _is_gone(self) -> bool:
        return self._ended.done() and not (_exists(self.pid) and living_members(self.pid))

    async def pause(self) -> None:
        self._signal(signal.SIGSTOP)
        await self._until(
            lambda: self._ended.done() or is_stopped(self.pid), f"process {self.pid} defies SIGSTOP"
        )
        if self._ended.done():
            raise FaultMissedError(f"process {self.pid} ended before it could be paused")

    async def resume(self) -> None:
        self._signal(signal.SIGCONT)
        await self._until(
            lambda: self._ended.done() or not is_stopped(self.pid),
            f"process {self.pid} defies SIGCONT",
        )

    async def terminate(self, *, within_s: float) -> int:
        await self.resume()  # A stopped process would never see the signal.
        if not self._ended.done():
            # Only itself: how its children end is its own business.
            signal.pidfd_send_signal(self._pidfd, signal.SIGTERM)
        try:
            async with asyncio.timeout(within_s):
                return await self.wait()
        except TimeoutError:
            await self.kill()
            raise NotInTimeError(
                f"timed out after {within_s:g} s waiting until "
                f"process {self.pid} ends after SIGTERM; it was killed"
            ) from None

    async def wait(self) -> int:
        return await asyncio.shield(self._ended)

    async def output(self, stream: Stream) -> str:
        return _tail(self._files[stream], self._starts[stream])

    async def _until(self, condition: Callable[[], bool], otherwise: str) -> None:
        try:
            async with asyncio.timeout(_PATIENCE_S):
                while not condition():  # noqa: ASYNC110 - the kernel tells nobody of these
                    await asyncio.sleep(_POLL_S)
        except TimeoutError:
            raise FaultMissedError(otherwise) from None


def _exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def _tail(path: Path, start: int) -> str:
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(start, end - _OUTPUT_BYTES_MAX))
        return file.read().decode(errors="replace")


def _check(process: LocalProcess) -> RunningProcess:
    """Has mypy hold it to what systems expect."""
    return process
