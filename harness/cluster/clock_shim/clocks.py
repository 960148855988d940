"""clock: shifts the wall clock of each node's processes, and of nobody else.

Every process that a node spawns is started under the shim, with the clock file of its node. What is
already broken is so for a process that starts later, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.cluster.base import RunningProcess
from harness.cluster.capabilities import Clocks, Node
from harness.cluster.clock_shim.build import Shim
from harness.cluster.clock_shim.clock_file import ClockFile
from harness.cluster.errors import FaultMissedError, NotInTimeError
from harness.cluster.waiting import wait_until
from harness.errors import EnvironmentFailure

_NS = 1e9
_ERROR_S = 0.02
_LOOK_S = 0.1
_STARTED_WITHIN_S = 5.0


@dataclass(slots=True)
class _Clock:
    file: ClockFile
    processes: list[tuple[RunningProcess, Path]] = field(default_factory=list)
    """Each with the file in which the kernel tells what it has mapped."""


class ShimmedClocks:
    def __init__(self, shim: Shim) -> None:
        self._shim = shim
        self._clocks: dict[Node, _Clock] = {}

    def give(self, node: Node, path: Path) -> None:
        """A clock of its own, kept in this file."""
        self._clocks[node] = _Clock(ClockFile(path.resolve()))

    def take_away(self) -> None:
        while self._clocks:
            self._clocks.popitem()[1].file.close()

    def command(self, node: Node, argv: Sequence[str]) -> list[str]:
        """What to execute so that `argv` lives by the clock of its node."""
        return ["env", *self._environment(node), *argv]

    def watch(self, node: Node, process: RunningProcess, maps: Path) -> None:
        """Of this process it has to be proved, too, that it lives by its node's clock."""
        self._clock(node).processes.append((process, maps))

    async def jump(self, node: Node, by_s: float) -> None:
        clock = self._clock(node)
        before_s = await self.offset_s(node)
        clock.file.jump(by_s)
        moved_s = await self.offset_s(node) - before_s
        # One that runs fast went on meanwhile.
        if abs(moved_s - by_s) > max(_ERROR_S, abs(by_s) / 2):
            raise FaultMissedError(
                f"the clock of {node} was to jump by {by_s:g} s and moved by {moved_s:g} s"
            )
        await self._check_felt(node)

    async def skew(self, node: Node, rate: float) -> None:
        self._clock(node).file.skew(rate)
        await self._check_gain(node, rate)
        await self._check_felt(node)

    async def offset_s(self, node: Node) -> float:
        """Measured, by a process under the same shim with the same file."""
        argv = ["/usr/bin/env", *self._environment(node), str(self._shim.probe)]
        probe = await asyncio.create_subprocess_exec(
            *argv, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
        )
        told, _ = await probe.communicate()
        if probe.returncode != 0:
            raise EnvironmentFailure(f"nobody can tell the time of {node}: {argv[-1]} failed")
        return int(told) / _NS

    async def heal(self) -> None:
        for node, clock in self._clocks.items():
            if clock.file.is_true:
                continue
            clock.file.heal()
            offset_s = await self.offset_s(node)
            if abs(offset_s) > _ERROR_S:
                raise FaultMissedError(f"the clock of {node} is still {offset_s:+g} s off")

    async def _check_gain(self, node: Node, rate: float) -> None:
        """A look takes a while itself, so that only bounds are known of the time between two."""
        now_s = asyncio.get_running_loop().time
        begun_s, before_s, looked_s = now_s(), await self.offset_s(node), now_s()
        await asyncio.sleep(_LOOK_S)
        again_s, after_s, ended_s = now_s(), await self.offset_s(node), now_s()
        least_s, most_s = sorted(
            ((rate - 1) * (again_s - looked_s), (rate - 1) * (ended_s - begun_s))
        )
        gained_s = after_s - before_s
        if not least_s - _ERROR_S <= gained_s <= most_s + _ERROR_S:
            raise FaultMissedError(
                f"the clock of {node} was to run at {rate:g} and gained {gained_s:g} s"
            )

    async def _check_felt(self, node: Node) -> None:
        """Every process of the node that runs has its clock file mapped, and so the shim."""
        clock = self._clock(node)
        for process, maps in list(clock.processes):

            async def feels(process: RunningProcess = process, maps: Path = maps) -> bool:
                if await _maps(maps, clock.file.path):
                    return True
                # It may be on its way yet, from one program to the next.
                if await process.is_running():
                    return False
                clock.processes.remove((process, maps))
                return True

            try:
                await wait_until(feels, within_s=_STARTED_WITHIN_S, what="", every_s=0.02)
            except NotInTimeError:
                raise FaultMissedError(
                    f"process {process.pid} of {node} does not live by the clock that was shifted;"
                    " is it statically linked?"
                ) from None

    def _environment(self, node: Node) -> tuple[str, str]:
        clock = self._clock(node).file.path
        return f"LD_PRELOAD={self._shim.library}", f"LOG_TRIAL_CLOCK={clock}"

    def _clock(self, node: Node) -> _Clock:
        if node not in self._clocks:
            raise ValueError(f"there is no node {node} here, only {list(self._clocks)}")
        return self._clocks[node]


async def _maps(maps: Path, file: Path) -> bool:
    """In a thread: the kernel tells it when the process lets go of its memory map, and that may
    wait for a disk. Nothing bounds that call, so whoever asks has to bound the await."""
    try:
        return str(file) in await asyncio.to_thread(maps.read_text, errors="replace")
    except OSError:
        return False


def _check(clocks: ShimmedClocks) -> Clocks:
    """Has mypy hold it to what nemeses expect."""
    return clocks
