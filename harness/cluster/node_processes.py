"""process: kill, pause, stop and start the broker of a node."""

from __future__ import annotations

from harness.cluster.base import RunningProcess, System
from harness.cluster.capabilities import Node, Processes
from harness.cluster.errors import FaultMissedError


class NodeProcesses:
    """Knows a node's process through its system, so it works wherever the place can spawn one."""

    def __init__(self, system: System) -> None:
        self._system = system

    async def kill(self, node: Node) -> None:
        process = await self._running(node)
        if process is not None:
            await process.kill()

    async def pause(self, node: Node) -> None:
        process = await self._running(node)
        if process is None:
            raise FaultMissedError(f"{node} does not run, so it cannot be paused")
        await process.pause()

    async def resume(self, node: Node) -> None:
        process = await self._running(node)
        if process is not None:
            await process.resume()

    async def start(self, node: Node) -> None:
        if await self._running(node) is None:
            await self._system.start(node)

    async def stop(self, node: Node) -> None:
        if await self._running(node) is not None:
            await self._system.stop(node)

    async def is_running(self, node: Node) -> bool:
        return await self._running(node) is not None

    async def is_paused(self, node: Node) -> bool:
        process = await self._running(node)
        return process is not None and await process.is_paused()

    async def _running(self, node: Node) -> RunningProcess | None:
        known = [host.node for host in self._system.place.hosts]
        if node not in known:
            raise ValueError(f"there is no node {node} here, only {known}")
        process = self._system.process(node)
        return process if process is not None and await process.is_running() else None


def _check(processes: NodeProcesses) -> Processes:
    """Has mypy hold it to what nemeses expect."""
    return processes
