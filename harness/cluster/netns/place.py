"""netns: every node is a host of its own on this machine, made of Linux namespaces.

    directory/n1/            home: server.properties, broker.out, broker.log, host.log
    directory/n1/clock       how far the wall clock of its processes is off
    directory/n1/data/       inside the host: its disk; seen from outside: empty
    directory/n1.img         that disk, until the place comes down

Each host has an address, a name, its own view of processes, a disk of a fixed size (ext4 on a loop
device), and an sshd over which every command comes, by a link that no fault strikes. One more host,
`clients`, is where clients live. The root file system is shared, so whatever is installed here is
installed there. Takes root.

Nothing outlives the place. Should this process be killed, the kernel ends the hosts after it, and
`heal` finds the few files that are left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count as numbers_from
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Self, TypeVar

from harness.cluster.base import Completed, Host, Place
from harness.cluster.capabilities import (
    Capability,
    Clocks,
    Disks,
    Network,
    Node,
    PacketFault,
    Wire,
)
from harness.cluster.clock_shim.build import shim, why_no_shim
from harness.cluster.clock_shim.clocks import ShimmedClocks
from harness.cluster.errors import NoAnswerError
from harness.cluster.netns.addresses import CLIENTS
from harness.cluster.netns.disks import HostDisks
from harness.cluster.netns.fleet import Fleet
from harness.cluster.netns.namespaces import ThreadsInside, network_of
from harness.cluster.netns.network import HostNetwork
from harness.cluster.netns.tools import tool
from harness.cluster.proxied_wire import (
    PROXIED_PORTS,
    WHY_NO_WIRE,
    ProxiedWire,
    usual_behind,
)
from harness.cluster.remote.shell import Shell
from harness.cluster.remote.spawned import SpawnedProcess, spawn

DISK_BYTES = 1 << 30
_THREADS = 64

_Answer = TypeVar("_Answer")


class NetnsPlace:
    name = "netns"
    client_host: Node | None = CLIENTS

    def __init__(
        self, directory: Path, *, disk_bytes: int = DISK_BYTES, wire: bool = False
    ) -> None:
        """Of a disk only what was written to it takes room on this machine's.

        With `wire` a proxy stands on each host, before its broker.
        """
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="netns")
        self._fleet = Fleet(directory.absolute(), disk_bytes, self._threads)
        self._hosts: list[Host] = []
        self._records = numbers_from(1)
        self._askers: ThreadsInside | None = None
        self._network = HostNetwork(self._fleet)
        self.network: Network | None = self._network
        self.disk: Disks | None = HostDisks(self._fleet)
        self._clocks = ShimmedClocks(shim()) if why_no_shim() is None else None
        self._proxied = ProxiedWire() if wire else None
        self.clock: Clocks | None = self._clocks
        self.wire: Wire | None = self._proxied

    @property
    def hosts(self) -> Sequence[Host]:
        return tuple(self._hosts)

    def why_not(self, capability: Capability) -> str | None:
        match capability:
            case "clock":
                return why_no_shim()
            case "wire":
                return None if self.wire is not None else WHY_NO_WIRE
            case _:
                return None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.down()

    async def up(self, count: int) -> Sequence[Host]:
        await self._fleet.up(count)
        # Found out by trying, once, and not on the loop: later it is asked there.
        await self._fleet.call(lambda: self._network.why_not(PacketFault(duplicate=0.5)))
        self._askers = ThreadsInside(
            network_of(self._fleet.host(CLIENTS).machine.pid), name=CLIENTS, count=_THREADS
        )
        for node, host in self._fleet.hosts.items():
            blueprint = host.machine.blueprint
            if node != CLIENTS:
                self._hosts.append(
                    Host(
                        node=node,
                        address=blueprint.address.data,
                        home=PurePosixPath(blueprint.home),
                        data=PurePosixPath(blueprint.data),
                    )
                )
                if self._clocks is not None:
                    self._clocks.give(node, blueprint.home / "clock")
        if self._proxied is not None:
            addresses = {
                host.machine.address.data: node for node, host in self._fleet.hosts.items()
            }
            # On the loop's thread, which lives as long as we do: with it the proxy would die.
            signed = self._fleet.companion([tool("setpriv"), "--pdeathsig", "KILL"])
            await self._proxied.up(signed, addresses)
        return self.hosts

    async def down(self) -> None:
        askers, self._askers = self._askers, None
        if askers is not None:
            askers.close(wait=False)
        self._hosts.clear()
        if self._clocks is not None:
            self._clocks.take_away()
        try:
            if self._proxied is not None:
                await self._proxied.down()
            await self._network.close()
        finally:
            await self._fleet.down()

    def port(self, node: Node, usual: int) -> int:
        self._fleet.host(node)
        return usual

    def port_behind(self, node: Node, usual: int) -> int:
        return self.port(node, usual if self._proxied is None else usual_behind(usual))

    async def run(self, node: Node, argv: Sequence[str], *, within_s: float = 60) -> Completed:
        return await self._shell(node).run(argv, within_s=within_s)

    async def spawn(
        self,
        node: Node,
        argv: Sequence[str],
        *,
        stdout: PurePosixPath,
        stderr: PurePosixPath,
    ) -> SpawnedProcess:
        shell = self._shell(node)
        record = shell.home / "spawned" / str(next(self._records))
        host = self._fleet.host(node)
        if self._proxied is not None:
            doors = {one: usual_behind(one) for one in PROXIED_PORTS}
            pid, address = host.machine.pid, host.machine.address.data
            await self._proxied.stand_before(node, address, doors, pid)
        if self._clocks is not None:
            argv = self._clocks.command(node, argv)
        process = await spawn(shell, argv, stdout=stdout, stderr=stderr, record=record)
        host.processes.append(process)
        if self._clocks is not None:
            maps = host.machine.root() / "proc" / str(process.pid) / "maps"
            self._clocks.watch(node, process, maps)
        return process

    def client_command(self, argv: Sequence[str]) -> Sequence[str]:
        """In the clients' network and under their name, but with our files and as our child."""
        clients = self._fleet.host(CLIENTS).machine.pid
        entered = f"--net=/proc/{clients}/ns/net", f"--uts=/proc/{clients}/ns/uts"
        # The warrant is signed last, as whoever enters a namespace may lose it.
        signed = tool("setpriv"), "--pdeathsig", "KILL"
        return self._fleet.companion([tool("nsenter"), *entered, *signed, *argv])

    async def ask(self, question: Callable[[], _Answer]) -> _Answer:
        if self._askers is None:
            raise RuntimeError("the place is not up")
        return await self._askers.call(question)

    async def put(self, node: Node, content: bytes, target: PurePosixPath) -> None:
        await self._shell(node).put(content, target)

    async def get(self, node: Node, source: PurePosixPath, into: Path) -> None:
        await self._shell(node).get(source, into)

    def _shell(self, node: Node) -> Shell:
        host = self._fleet.host(node)
        if not host.machine.is_on:
            raise NoAnswerError(f"{node} is off")
        return host.shell


def _check(place: NetnsPlace) -> Place:
    """Has mypy hold it to what systems expect."""
    return place
