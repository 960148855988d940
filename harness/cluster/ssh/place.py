"""ssh: the hosts of an inventory, which may be anywhere.

    ~/log-trial/run/          home: server.properties, broker.out, broker.log; new for each run
    ~/log-trial/data/         what brokers store, unless the inventory names a data_dir
    ~/log-trial/installed/    the broker of our tree, kept from run to run

Commands go over one ssh connection a host, with keep-alives; a host has to prove itself by its key.
Clients live on this machine, so it has to reach the hosts' addresses itself. Everything runs as the
inventory's user, and only what takes root is done by sudo. A host belongs to one run at a time: the
next one ends whatever a run before it has left.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count as numbers_from
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self, TypeVar

from harness.cluster.base import Completed, Host, Place
from harness.cluster.capabilities import Capability, Clocks, Disks, Network, Node, Wire
from harness.cluster.inventory import CLIENTS, Inventory, InventoryHost
from harness.cluster.remote.shell import Login, Shell
from harness.cluster.remote.spawned import SpawnedProcess, spawn
from harness.cluster.ssh.clocks import HostClocks
from harness.cluster.ssh.disks import HostDisks
from harness.cluster.ssh.host_keys import known_hosts_for
from harness.cluster.ssh.network import FirewallNetwork
from harness.cluster.ssh.reach import Reach
from harness.cluster.ssh.remote_host import RemoteHost, address_of
from harness.cluster.ssh.vantage import ThisMachine, Vantage

_THREADS = 64
_REASONS: dict[Capability, str] = {
    "network": "without root on every host (sudo = true in the inventory) no link can be cut",
    "disk": "without a data_dir in the inventory, a file system of its own, no disk can be filled",
    "clock": "without own_clock = true in the inventory the clocks are not ours to set",
    "wire": "no proxy stands between these hosts",
}

_Answer = TypeVar("_Answer")


class SshPlace:
    client_host: Node | None = CLIENTS

    def __init__(
        self,
        inventory: Inventory,
        *,
        name: str = "ssh",
        begin: Callable[[int], Awaitable[Inventory]] | None = None,
        vantage: Vantage | None = None,
    ) -> None:
        """`begin` is called before so many hosts are used, and may tell more of them then."""
        self.name = name
        self._inventory = inventory
        self._begin = begin
        self._vantage = vantage or ThisMachine()
        self._hosts: dict[Node, RemoteHost] = {}
        self._is_up = False
        self._records = numbers_from(1)
        self._threads: ThreadPoolExecutor | None = None
        self._keys: TemporaryDirectory[str] | None = None
        every = inventory.hosts
        self._firewalls = FirewallNetwork(self._hosts)
        self._clocks = HostClocks(self._hosts)
        self._disks = HostDisks(self._hosts)
        self.network: Network | None = (
            self._firewalls if all(one.has_root for one in every) else None
        )
        self.disk: Disks | None = self._disks if all(one.data_dir for one in every) else None
        are_ours = all(one.own_clock and one.has_root for one in every)
        self.clock: Clocks | None = self._clocks if are_ours else None
        self.wire: Wire | None = None

    @property
    def hosts(self) -> Sequence[Host]:
        return tuple(host.known for host in self._hosts.values()) if self._is_up else ()

    def why_not(self, capability: Capability) -> str | None:
        there = {
            "network": self.network,
            "disk": self.disk,
            "clock": self.clock,
            "wire": self.wire,
        }
        return _REASONS[capability] if there.get(capability, self) is None else None

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
        if self._hosts:
            raise RuntimeError("the place is up already")
        if self._begin is not None:
            self._inventory = await self._begin(count)
        described = self._inventory.first(count)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="ssh")
        self._keys = TemporaryDirectory(prefix="log-trial-")
        reached = await asyncio.gather(*map(self._reached, described), return_exceptions=True)
        self._hosts.update((one.node, one) for one in reached if not isinstance(one, BaseException))
        for failure in reached:
            if isinstance(failure, BaseException):
                raise failure
        await asyncio.gather(*(host.settle() for host in self._hosts.values()))
        self._is_up = True
        await self._firewalls.open(Reach(self._hosts, self._vantage))
        await self._clocks.open()
        return self.hosts

    async def down(self) -> None:
        """Every host is tried, and every kind of fault; the first failure is told at the end."""
        ends: list[Awaitable[None]] = [self._firewalls.close(), self._clocks.heal()]
        if self._is_up:
            ends.append(self._disks.heal())
        ends += [self._end_processes(host) for host in self._hosts.values()]
        failures = await asyncio.gather(*ends, return_exceptions=True)
        for host in self._hosts.values():
            host.shell.close()
        self._hosts.clear()
        self._is_up = False
        if self._threads is not None:
            self._threads.shutdown(wait=False)
            self._threads = None
        if self._keys is not None:
            self._keys.cleanup()
            self._keys = None
        for failure in failures:
            if failure is not None:
                raise failure

    def port(self, node: Node, usual: int) -> int:
        self._host(node)
        return usual

    def port_behind(self, node: Node, usual: int) -> int:
        return self.port(node, usual)

    async def run(self, node: Node, argv: Sequence[str], *, within_s: float = 60) -> Completed:
        return await self._host(node).shell.run(argv, within_s=within_s)

    async def spawn(
        self,
        node: Node,
        argv: Sequence[str],
        *,
        stdout: PurePosixPath,
        stderr: PurePosixPath,
    ) -> SpawnedProcess:
        host = self._host(node)
        record = host.home / "spawned" / str(next(self._records))
        process = await spawn(host.shell, argv, stdout=stdout, stderr=stderr, record=record)
        host.processes.append(process)
        return process

    def client_command(self, argv: Sequence[str]) -> Sequence[str]:
        return self._vantage.client_command(argv)

    async def ask(self, question: Callable[[], _Answer]) -> _Answer:
        return await self._vantage.ask(question)

    async def put(self, node: Node, content: bytes, target: PurePosixPath) -> None:
        await self._host(node).shell.put(content, target)

    async def get(self, node: Node, source: PurePosixPath, into: Path) -> None:
        await self._host(node).shell.get(source, into)

    def python(self, node: Node) -> str:
        """The one that is there already, from which environments are made."""
        return self._host(node).described.python

    async def _reached(self, described: InventoryHost) -> RemoteHost:
        assert self._threads is not None
        assert self._keys is not None
        keys = Path(self._keys.name)

        def dial() -> socket.socket:
            return self._vantage.dial(described.ssh_address, described.port)

        known_hosts = await asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: known_hosts_for(described, dial, keys)
        )
        login = Login(
            address=described.ssh_address,
            user=described.user,
            key_file=described.key_file,
            known_hosts=known_hosts,
            port=described.port,
        )
        home = PurePosixPath("/")  # Until it has settled.
        shell = Shell(described.node, login, dial=dial, home=home, threads=self._threads)
        host = RemoteHost(described, shell, await address_of(described))
        await shell.script("true")
        return host

    async def _end_processes(self, host: RemoteHost) -> None:
        ends = [process.kill() for process in host.processes]
        host.processes.clear()
        for failure in await asyncio.gather(*ends, return_exceptions=True):
            if failure is not None:
                raise failure

    def _host(self, node: Node) -> RemoteHost:
        if node not in self._hosts:
            raise ValueError(f"there is no node {node} here, only {list(self._hosts)}")
        return self._hosts[node]


async def heal_hosts(inventory: Inventory) -> None:
    """Ends what runs that died have left on every host: processes, faults, data."""
    place = SshPlace(inventory)
    try:
        await place.up(len(inventory.hosts))
    finally:
        await place.down()


def _check(place: SshPlace) -> Place:
    """Has mypy hold it to what systems expect."""
    return place
