"""sim: every node is a machine of its own inside a simulation.

What a test does through a cluster it can do here in virtual time, decided by the simulation's seed,
and everything may be broken: processes, links, disks, clocks and single messages. No command runs
on a simulated machine. Its broker is part of the simulation, and SimBroker starts it.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TypeVar

from broker.disk.memory import MemoryDisk
from harness.cluster.base import Completed, Host, Place, RunningProcess
from harness.cluster.capabilities import Capability, Clocks, Disks, Network, Node, Wire
from harness.errors import EnvironmentFailure
from harness.schedule.faults import CLIENTS
from harness.sim.nodes import SimCluster, SimNode
from harness.sim.place_clocks import PlaceClocks
from harness.sim.place_disks import PlaceDisks
from harness.sim.place_network import PlaceNetwork
from harness.sim.place_wire import PlaceWire
from harness.sim.processes import SimProcess
from harness.sim.simulation import Simulation

HOME = PurePosixPath("/home")
DATA = PurePosixPath("/data")
CONTROL = "control"
"""The host of whoever asks the nodes about the cluster. No fault of the network touches it."""

_Answer = TypeVar("_Answer")


class SimPlace:
    name = "sim"
    client_host: Node | None = CLIENTS

    def __init__(self, simulation: Simulation) -> None:
        """Before the simulation has connections. One place to a simulation, which comes up once."""
        self.simulation = simulation
        self.control = SimProcess(simulation, CONTROL)
        simulation.network.host(CLIENTS)
        self._hosts: list[Host] = []
        self._names: list[Node] = []
        self._homes: dict[Node, MemoryDisk] = {}
        self._cluster: SimCluster | None = None
        self._nodes: dict[Node, SimNode] = {}
        self.network: Network | None = PlaceNetwork(simulation, self._names, [CONTROL])
        self.disk: Disks | None = PlaceDisks(simulation, self._nodes)
        self.clock: Clocks | None = PlaceClocks(simulation, self._nodes)
        self.wire: Wire | None = PlaceWire(simulation, self._topic_name)

    @property
    def hosts(self) -> Sequence[Host]:
        return tuple(self._hosts)

    @property
    def nodes(self) -> Mapping[Node, SimNode]:
        """The machines with what runs on them; empty until a system has settled on them."""
        return MappingProxyType(self._nodes)

    def why_not(self, capability: Capability) -> str | None:
        return None

    async def up(self, count: int) -> Sequence[Host]:
        if self._homes:
            raise RuntimeError("a simulated place comes up once; make another simulation")
        for number in range(1, count + 1):
            node = f"n{number}"
            self.simulation.network.host(node)
            self._homes[node] = MemoryDisk()
            self._hosts.append(Host(node=node, address=node, home=HOME, data=DATA))
        self._names += [*self._homes, CLIENTS]
        return self.hosts

    def settle(self, cluster: SimCluster) -> None:
        """A system has put its nodes on the hosts: from now on their machines can be broken."""
        if list(cluster.nodes) != [host.node for host in self._hosts]:
            raise ValueError(f"nodes {list(cluster.nodes)} do not fit hosts {self._hosts}")
        self._cluster = cluster
        self._nodes.update(cluster.nodes)

    async def down(self) -> None:
        for capability in (self.network, self.disk, self.clock, self.wire):
            assert capability is not None
            await capability.heal()
        for node in self._nodes.values():
            node.kill()
        self.control.kill()
        self._hosts.clear()

    def port(self, node: Node, usual: int) -> int:
        """Each host has an address of its own."""
        self._home_of(node)
        return usual

    def port_behind(self, node: Node, usual: int) -> int:
        return self.port(node, usual)

    async def run(self, node: Node, argv: Sequence[str], *, within_s: float = 60) -> Completed:
        raise EnvironmentFailure(f"{argv[0]} cannot run on {node}: {_NO_COMMANDS}")

    async def spawn(
        self,
        node: Node,
        argv: Sequence[str],
        *,
        stdout: PurePosixPath,
        stderr: PurePosixPath,
    ) -> RunningProcess:
        raise EnvironmentFailure(f"{argv[0]} cannot run on {node}: {_NO_COMMANDS}")

    def client_command(self, argv: Sequence[str]) -> Sequence[str]:
        raise EnvironmentFailure(f"{argv[0]} cannot run: {_NO_COMMANDS}")

    async def ask(self, question: Callable[[], _Answer]) -> _Answer:
        raise EnvironmentFailure("a simulation has no threads, so nothing that blocks can be asked")

    async def put(self, node: Node, content: bytes, target: PurePosixPath) -> None:
        disk, path = self._where(node, target)
        for folder in reversed(PurePosixPath(path).parents):
            await disk.make_directory("" if folder == PurePosixPath() else str(folder))
        await disk.replace(path, content)

    async def get(self, node: Node, source: PurePosixPath, into: Path) -> None:
        """As an onlooker: no fault of the disk is in the way."""
        disk, path = self._where(node, source)
        content = disk.peek(path, 0, sys.maxsize)
        if content is None:
            raise FileNotFoundError(errno.ENOENT, f"No such file on {node}", str(source))
        into.write_bytes(content)  # noqa: ASYNC240 - no threads here, and only virtual time

    def _where(self, node: Node, path: PurePosixPath) -> tuple[MemoryDisk, str]:
        disks = {str(HOME): self._home_of(node)}
        if node in self._nodes:
            disks |= self._nodes[node].disks
        for root, disk in disks.items():
            if path.is_relative_to(root):
                return disk, str(path.relative_to(root))
        raise ValueError(f"{path} lies on no disk of {node}: it has {', '.join(disks)}")

    def _home_of(self, node: Node) -> MemoryDisk:
        if all(host.node != node for host in self._hosts):
            raise ValueError(f"there is no node {node} here, only {[h.node for h in self._hosts]}")
        return self._homes[node]

    def _topic_name(self, topic_id: bytes) -> str | None:
        return None if self._cluster is None else self._cluster.topic_name(topic_id)


_NO_COMMANDS = "a simulated host has no processes but its broker, which its system starts"


def _check(place: SimPlace) -> Place:
    """Has mypy hold it to what systems expect."""
    return place
