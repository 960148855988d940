"""disk: fills, slows, breaks and damages the disks of simulated nodes, and takes their power."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Collection, Mapping

from harness.cluster.capabilities import DiskFault, Disks, Node, StoredDamage
from harness.cluster.errors import FaultMissedError
from harness.errors import EnvironmentFailure
from harness.sim.nodes import SimNode
from harness.sim.simulation import Simulation
from harness.sim.stored_logs import StoredLogs

Damage = Callable[[StoredLogs], StoredDamage | None]


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

    async def make_read_only(self, node: Node) -> None:
        self._tell("fault", node, "disk read-only")
        self._nodes[node].disk_faults.make_read_only()
        for disk in self._nodes[node].disks.values():
            try:
                # Its root is there already, so a disk that can be written to is left as it was.
                await self._simulation.loop.create_task(disk.make_directory(""))
            except OSError as refusal:
                # One that is broken besides says so instead.
                if refusal.errno in (errno.EROFS, errno.EIO):
                    continue
            raise FaultMissedError(f"{node} still has a disk that can be written to")

    async def flip_bit(self, node: Node, draw: float) -> StoredDamage:
        return self._damage(node, lambda logs: logs.flip_bit(draw))

    async def truncate_tail(self, node: Node, draw: float) -> StoredDamage:
        return self._damage(node, lambda logs: logs.truncate_tail(draw))

    def _damage(self, node: Node, act: Damage) -> StoredDamage:
        if self._nodes[node].is_running:
            raise FaultMissedError(f"{node} runs, and its files are not to be touched meanwhile")
        for disk in self._nodes[node].disks.values():
            logs = StoredLogs(disk)
            before = logs.fingerprint()
            damage = act(logs)
            if damage is not None:
                where = damage.where
                if logs.fingerprint() == before:
                    raise FaultMissedError(f"every log of {node} is as it was, though {where}")
                self._nodes[node].damaged_logs |= logs.flipped
                self._tell("fault", node, where)
                return damage._replace(where=f"{node}: {where}")
        raise FaultMissedError(f"{node} has stored nothing yet that could be damaged so")

    async def lose_power(self, node: Node) -> None:
        self._nodes[node].power_loss()
        if self._nodes[node].is_running or self._simulation.network.host(node).is_up:
            raise FaultMissedError(f"{node} still has power")

    async def restore_power(self, node: Node) -> None:
        host = self._simulation.network.host(node)
        if not host.is_up:
            row = self._simulation.trace.emit("heal", node, detail="power")
            self._simulation.network.power_back(node, row)
        if not host.is_up:
            raise FaultMissedError(f"{node} has no power yet")

    async def heal(self, *, but: Collection[Node] = ()) -> None:
        for name, node in self._nodes.items():
            if name in but:
                continue
            self._tell("heal", name, "disk")
            node.disk_faults.heal()
            await self.restore_power(name)
            if not await self.free_bytes(name):
                raise FaultMissedError(f"{name} still has a full disk after the healing")

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
