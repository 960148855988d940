"""netns: every node is a host of its own on this machine, made of Linux namespaces.

    directory/n1/            home: server.properties, broker.out, broker.log, host.log
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
from harness.cluster.capabilities import Capability, Clocks, Disks, Network, Node, Wire
from harness.cluster.errors import NoAnswerError
from harness.cluster.netns.addresses import CLIENTS
from harness.cluster.netns.disks import HostDisks
from harness.cluster.netns.fleet import Fleet
from harness.cluster.netns.namespaces import ThreadsInside, network_of
from harness.cluster.netns.network import HostNetwork
from harness.cluster.netns.tools import tool
from harness.cluster.remote.shell import Shell
from harness.cluster.remote.spawned import SpawnedProcess, spawn

DISK_BYTES = 1 << 30
_THREADS = 64

_REASONS: dict[Capability, str] = {
    "clock": "hosts made of namespaces share this machine's clock, which is not theirs to shift",
    "wire": "no proxy stands between these hosts",
}

_Answer = TypeVar("_Answer")


class NetnsPlace:
    name = "netns"
    client_host: Node | None = CLIENTS

    def __init__(self, directory: Path, *, disk_bytes: int = DISK_BYTES) -> None:
        """Of a disk only what was written to it takes room on this machine's."""
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="netns")
        self._fleet = Fleet(directory.absolute(), disk_bytes, self._threads)
        self._hosts: list[Host] = []
        self._records = numbers_from(1)
        self._askers: ThreadsInside | None = None
        self._network = HostNetwork(self._fleet)
        self.network: Network | None = self._network
        self.disk: Disks | None = HostDisks(self._fleet)
        self.clock: Clocks | None = None
        self.wire: Wire | None = None

    @property
    def hosts(self) -> Sequence[Host]:
        return tuple(self._hosts)

    def why_not(self, capability: Capability) -> str | None:
        return _REASONS.get(capability)

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
        return self.hosts

    async def down(self) -> None:
        askers, self._askers = self._askers, None
        if askers is not None:
            askers.close(wait=False)
        self._hosts.clear()
        try:
            await self._network.close()
        finally:
            await self._fleet.down()

    def port(self, node: Node, usual: int) -> int:
        self._fleet.host(node)
        return usual

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
        process = await spawn(shell, argv, stdout=stdout, stderr=stderr, record=record)
        self._fleet.host(node).processes.append(process)
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
