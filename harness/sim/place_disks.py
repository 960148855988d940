"""disk: fills, slows and breaks the disks of simulated nodes."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Mapping

from harness.cluster.base import DiskFault, Disks, Node
from harness.cluster.errors import FaultMissedError
from harness.errors import EnvironmentFailure
from harness.sim.nodes import SimNode
from harness.sim.simulation import Simulation


class PlaceDisks:
    def __init__(self, simulation: Simulation, nodes: Mapping[Node, SimNode]) -> None:
        """`nodes` may be filled later."""
        self._simulation = simulation
        self._nodes = nodes

    def why_not(self, fault: DiskFault) -> str | None:
        return None

    async def fill(self, node: Node) -> None:
        self._tell("fault", node, "disk full")
        self._nodes[node].disk_faults.fill()
        free = await self.free_bytes(node)
        if free:
            raise FaultMissedError(f"{node} still has {free} bytes of disk free")

    async def slow(self, node: Node, by_s: float) -> None:
        self._tell("fault", node, f"disk slower by {by_s:g} s")
        self._nodes[node].disk_faults.slow(by_s)
        loop = self._simulation.loop
        begun_s = loop.time()
        # A disk that is broken besides is slow to say so.
        await asyncio.gather(*self._free(node), return_exceptions=True)
        if loop.time() - begun_s < by_s:
            raise FaultMissedError(f"{node} has an answer from its disk in less than {by_s:g} s")

    async def fail(self, node: Node) -> None:
        self._tell("fault", node, "disk broken")
        self._nodes[node].disk_faults.fail()
        for answer in await asyncio.gather(*self._free(node), return_exceptions=True):
            if not isinstance(answer, OSError) or answer.errno != errno.EIO:
                raise FaultMissedError(f"{node} still has a disk that works")

    async def heal(self) -> None:
        for name, node in self._nodes.items():
            self._tell("heal", name, "disk")
            node.disk_faults.heal()

    async def free_bytes(self, node: Node) -> int:
        """Of the fullest of its disks, as the node itself would ask for it."""
        try:
            return min(await asyncio.gather(*self._free(node)))
        except OSError as error:
            raise EnvironmentFailure(f"{node} cannot tell how full its disk is: {error}") from error

    def _free(self, node: Node) -> list[asyncio.Task[int]]:
        loop = self._simulation.loop
        return [loop.create_task(disk.free_bytes()) for disk in self._nodes[node].disks.values()]

    def _tell(self, kind: str, node: Node, detail: str) -> None:
        self._simulation.trace.emit(kind, node, detail=detail)


def _check(disks: PlaceDisks) -> Disks:
    """Has mypy hold it to what nemeses expect."""
    return disks
