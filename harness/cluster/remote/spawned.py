"""A process that lives on, on a host over ssh: spawned, watched, broken, ended.

A small shell on the host spawns it as the leader of a session of its own, waits for it, and writes
down how it ended. It is known by its number together with its start time, so that a number that has
come to mean another process is never signalled.
"""

from __future__ import annotations

import asyncio
import shlex
import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from harness.cluster.base import RunningProcess, Stream
from harness.cluster.errors import FaultMissedError, NodeFailedError, NotInTimeError
from harness.cluster.remote.shell import Shell

_PATIENCE_S = 10.0
_POLL_S = 0.01
_RECORD_WITHIN_S = 3.0
_LOST_EXIT_CODE = -signal.SIGKILL
_OUTPUT_BYTES_MAX = 1 << 16
_THEN = "--"
_STOPPED = "T"
_ENDED = ("Z", "X")
_FROM_STATE_TO_GROUP = 2
_FROM_STATE_TO_START = 19
_SHELL_ADDS_TO_SIGNALS = 128

_SUPERVISE = """
record=$1 out=$2 err=$3; shift 3
mkdir -p "${record%/*}" || exit
: >>"$out" && : >>"$err" || exit
from="$(wc -c <"$out") $(wc -c <"$err")"
setsid "$@" </dev/null >>"$out" 2>>"$err" &
pid=$!
while read -r line </proc/$pid/stat && set -- ${line##*) } && [ "$3" != $pid ]; do :; done
echo running >"$record"
echo $pid ${20} $from
exec >/dev/null 2>&1
wait $pid
code=$?
kill -KILL -- -$pid
echo ended $code >"$record"
"""

_SIGNAL = """
read -r line </proc/{pid}/stat && set -- ${{line##*) }} && [ "${{20}}" = {start} ] || exit 0
kill -s {name} -- {target}
"""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the host shows of a process: a state for each thread, none if there is no process."""

    threads: tuple[str, ...]
    exit_code: int | None

    @property
    def is_alive(self) -> bool:
        return bool(self.threads) and self.threads[0] not in _ENDED

    @property
    def is_stopped(self) -> bool:
        return bool(self.threads) and all(state == _STOPPED for state in self.threads)


class SpawnedProcess:
    def __init__(
        self,
        shell: Shell,
        *,
        pid: int,
        start: str,
        record: PurePosixPath,
        outputs: dict[Stream, tuple[PurePosixPath, int]],
    ) -> None:
        self._shell = shell
        self._pid = pid
        self._start = start
        self._record = record
        self._outputs = outputs
        self._exit_code: int | None = None
        self._is_host_lost = False
        self._gone_since_s: float | None = None

    @property
    def pid(self) -> int:
        """As the host numbers it."""
        return self._pid

    def lose(self) -> None:
        """The host went down and took the process along: nobody can be asked any more."""
        self._is_host_lost = True
        if self._exit_code is None:
            self._exit_code = _LOST_EXIT_CODE

    async def is_running(self) -> bool:
        return self._exit_code is None and (await self._look()).is_alive

    async def is_paused(self) -> bool:
        return self._exit_code is None and (await self._look()).is_stopped

    async def kill(self) -> None:
        await self._signal("KILL", f"-{self._pid}")

        async def is_gone() -> bool:
            await self._look()
            return self._exit_code is not None and not await self._group()

        await self._until(is_gone, "survives SIGKILL")

    async def pause(self) -> None:
        await self._signal("STOP", f"-{self._pid}")

        async def stands_still() -> bool:
            seen = await self._look()
            return seen.is_stopped or not seen.is_alive

        await self._until(stands_still, "defies SIGSTOP")
        if not await self.is_paused():
            raise FaultMissedError(f"{self._named()} ended before it could be paused")

    async def resume(self) -> None:
        await self._signal("CONT", f"-{self._pid}")

        async def goes_on() -> bool:
            return not (await self._look()).is_stopped

        await self._until(goes_on, "defies SIGCONT")

    async def terminate(self, *, within_s: float) -> int:
        await self.resume()  # A stopped process would never see the signal.
        # Only itself: how its children end is its own business.
        await self._signal("TERM", str(self._pid))
        try:
            async with asyncio.timeout(within_s):
                return await self.wait()
        except TimeoutError:
            await self.kill()
            raise NotInTimeError(
                f"timed out after {within_s:g} s waiting until "
                f"{self._named()} ends after SIGTERM; it was killed"
            ) from None

    async def wait(self) -> int:
        while self._exit_code is None:
            await self._look()
            await asyncio.sleep(_POLL_S)
        return self._exit_code

    async def output(self, stream: Stream) -> str:
        path, start = self._outputs[stream]
        answer = await self._shell.script(
            f"tail -c +{start + 1} {shlex.quote(str(path))} | tail -c {_OUTPUT_BYTES_MAX}"
        )
        return answer.stdout

    async def _look(self) -> _Seen:
        if self._exit_code is not None:
            return _Seen((), self._exit_code)
        proc = f"/proc/{self._pid}"
        # The record is read last: a process that is gone by then has had its end written down.
        answer = await self._shell.script(
            f"cat {proc}/stat {proc}/task/*/stat 2>/dev/null; "
            f"echo {_THEN}; cat {shlex.quote(str(self._record))}"
        )
        shown, _, record = answer.stdout.partition(f"{_THEN}\n")
        process, *threads = (_fields(line) for line in shown.splitlines() or [""])
        is_it = len(process) > _FROM_STATE_TO_START and process[_FROM_STATE_TO_START] == self._start
        seen = _Seen(
            tuple(fields[0] for fields in threads if fields) if is_it else (), _ended(record)
        )
        self._learn(seen)
        return seen

    def _learn(self, seen: _Seen) -> None:
        """Who is gone and was not written down lost the shell that should have done so, too."""
        now_s = asyncio.get_running_loop().time()
        if seen.is_alive:
            self._gone_since_s = None
        elif self._gone_since_s is None:
            self._gone_since_s = now_s
        if seen.exit_code is not None:
            self._exit_code = seen.exit_code
        elif self._gone_since_s is not None and now_s - self._gone_since_s > _RECORD_WITHIN_S:
            self._exit_code = _LOST_EXIT_CODE

    async def _group(self) -> list[str]:
        """The processes of its group that live."""
        if self._is_host_lost:
            return []
        answer = await self._shell.script("cat /proc/[0-9]*/stat 2>/dev/null")
        return [
            line
            for line in answer.stdout.splitlines()
            if (fields := _fields(line))
            and fields[_FROM_STATE_TO_GROUP] == str(self._pid)
            and fields[0] not in _ENDED
        ]

    async def _signal(self, name: str, target: str) -> None:
        if self._exit_code is None:
            script = _SIGNAL.format(pid=self._pid, start=self._start, name=name, target=target)
            await self._shell.script(script)

    async def _until(self, condition: Callable[[], Awaitable[bool]], otherwise: str) -> None:
        try:
            async with asyncio.timeout(_PATIENCE_S):
                while not await condition():  # noqa: ASYNC110 - the host tells nobody
                    await asyncio.sleep(_POLL_S)
        except TimeoutError:
            raise FaultMissedError(f"{self._named()} {otherwise}") from None

    def _named(self) -> str:
        return f"process {self._pid} of {self._shell.name}"


async def spawn(
    shell: Shell,
    argv: Sequence[str],
    *,
    stdout: PurePosixPath,
    stderr: PurePosixPath,
    record: PurePosixPath,
) -> SpawnedProcess:
    """`record` is a file on the host that belongs to this process alone."""
    supervised = shlex.join([str(record), str(stdout), str(stderr), *argv])
    answer = await shell.script(
        # In braces: of the whole line in the background bash would keep a shell, and our streams.
        f"cd {shlex.quote(str(shell.home))} && "
        f"{{ setsid sh -c {shlex.quote(_SUPERVISE)} supervise {supervised} </dev/null & }}"
    )
    try:
        pid, start, out_from, err_from = answer.stdout.split()
    except ValueError:
        raise NodeFailedError(
            f"{shell.name} did not start {argv[0]}: {answer.stderr.strip() or answer.stdout}"
        ) from None
    return SpawnedProcess(
        shell,
        pid=int(pid),
        start=start,
        record=record,
        outputs={"stdout": (stdout, int(out_from)), "stderr": (stderr, int(err_from))},
    )


def _fields(stat: str) -> list[str]:
    """State, parent, group and so on. The name before them may hold any character."""
    return stat.rpartition(")")[2].split()


def _ended(record: str) -> int | None:
    word, _, code = record.strip().partition(" ")
    if word != "ended":
        return None
    number = int(code)
    is_signal = number > _SHELL_ADDS_TO_SIGNALS
    return _SHELL_ADDS_TO_SIGNALS - number if is_signal else number


def _check(process: SpawnedProcess) -> RunningProcess:
    """Has mypy hold it to what systems expect."""
    return process
