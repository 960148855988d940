"""One life of a simulated broker, as a cluster sees a process: watched, broken, ended."""

from __future__ import annotations

import asyncio

from harness.cluster.base import RunningProcess, Stream
from harness.cluster.errors import FaultMissedError, NotInTimeError
from harness.sim.nodes import NodeDownError, SimNode


class NodeProcess:
    """The life that the node leads at this moment, and no later one."""

    def __init__(self, node: SimNode) -> None:
        if node.life is None:
            raise ValueError(f"{node.name} does not run")
        self._node = node
        self._life = node.life
        self._ended: asyncio.Future[NodeDownError] = node.when_ended()

    @property
    def pid(self) -> int:
        """The how many-th life of its node it is."""
        return self._life.number

    async def is_running(self) -> bool:
        return not self._life.is_dead

    async def is_paused(self) -> bool:
        return not self._life.is_dead and self._life.is_paused

    async def kill(self) -> None:
        if not self._life.is_dead:
            self._node.kill()
        if not self._life.is_dead or not self._ended.done():
            raise FaultMissedError(f"{self._life.name} survives a kill")

    async def pause(self) -> None:
        if self._life.is_dead:
            raise FaultMissedError(f"{self._life.name} ended before it could be paused")
        self._node.pause()
        if not self._life.is_paused:
            raise FaultMissedError(f"{self._life.name} defies a pause")

    async def resume(self) -> None:
        # A node counts its pauses.
        while await self.is_paused():
            self._node.resume(self._life)

    async def terminate(self, *, within_s: float) -> int:
        await self.resume()
        if not self._life.is_dead:
            try:
                async with asyncio.timeout(within_s):
                    await self._node.stop()
            except TimeoutError:
                pass
            if not self._life.is_dead:
                # Too slow, or so young that there was nothing yet to be stopped cleanly.
                await self.kill()
                raise NotInTimeError(
                    f"timed out after {within_s:g} s waiting until "
                    f"{self._life.name} ends when asked; it was killed"
                )
        return await self.wait()

    async def wait(self) -> int:
        return (await asyncio.shield(self._ended)).exit_code

    async def output(self, stream: Stream) -> str:
        """A simulated broker prints nothing. Once it has ended, stderr tells how."""
        return str(self._ended.result()) if stream == "stderr" and self._ended.done() else ""


def _check(process: NodeProcess) -> RunningProcess:
    """Has mypy hold it to what systems expect."""
    return process
