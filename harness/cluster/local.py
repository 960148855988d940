"""local: every node is a process on loopback, in a directory of its own.

    directory/n1/            home: server.properties, broker.out, broker.log
    directory/n1/data/       what the node stores
    directory/n1/clock       how far its wall clock is off

The nodes share one machine and one address, so no link between them can be cut. Their processes and
their clocks can be broken, with `disk_bytes` their disks, with `wire` single messages. Nothing is
written outside of the directory, and nothing outlives the place: leaving it kills every process, on
an error and on Ctrl-C too. Should this process be killed, the kernel kills the nodes after it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Self, TypeVar

from harness.cluster.base import Completed, Host, Place
from harness.cluster.capabilities import Capability, Clocks, Disks, Network, Node, Wire
from harness.cluster.clock_shim.build import shim, why_no_shim
from harness.cluster.clock_shim.clocks import ShimmedClocks
from harness.cluster.errors import NotInTimeError
from harness.cluster.held_ports import LOOPBACK, HeldPorts
from harness.cluster.local_process import LocalProcess, death_warrant
from harness.cluster.proxied_wire import (
    PROXIED_PORTS,
    WHY_NO_WIRE,
    ProxiedWire,
    usual_behind,
)
from harness.cluster.small_disks import SmallDisks

_Answer = TypeVar("_Answer")

_NOT_FOUND = 127
"""What a shell, and setpriv, answer for a command that is nowhere to be found."""

_TRANSFER_WITHIN_S = 120.0
"""Of a file, which may be as large as all that a node stores; as long as over ssh."""

_REASONS: dict[Capability, str] = {
    "network": "all local nodes share one loopback address, so no link between two can be cut",
    "disk": "local nodes share this machine's disk unless each is given disk_bytes of its own",
}


class LocalPlace:
    name = "local"
    client_host: Node | None = None

    def __init__(
        self, directory: Path, *, disk_bytes: int | None = None, wire: bool = False
    ) -> None:
        """With `disk_bytes` each node stores on a disk of that size, in memory; needs root.

        What was stored there goes when the place comes down. With `wire` a proxy stands before
        every node; it cannot tell one local peer from another, and calls each 127.0.0.1.
        """
        self._directory = directory.absolute()
        self._hosts: list[Host] = []
        self._held = HeldPorts()
        self._ports: dict[tuple[Node, int], int] = {}
        self._processes: list[LocalProcess] = []
        self._small_disks = SmallDisks(disk_bytes) if disk_bytes is not None else None
        self.network: Network | None = None
        self.disk: Disks | None = self._small_disks
        self._clocks = ShimmedClocks(shim()) if why_no_shim() is None else None
        self._proxied = ProxiedWire() if wire else None
        self.clock: Clocks | None = self._clocks
        self.wire: Wire | None = self._proxied

    @property
    def hosts(self) -> Sequence[Host]:
        return tuple(self._hosts)

    def why_not(self, capability: Capability) -> str | None:
        match capability:
            case "disk":
                return None if self.disk is not None else _REASONS[capability]
            case "clock":
                return why_no_shim()
            case "wire":
                return None if self.wire is not None else WHY_NO_WIRE
            case _:
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
        if self._hosts:
            raise RuntimeError("the place is up already")
        for number in range(1, count + 1):
            node = f"n{number}"
            home = self._directory / node
            data = home / "data"
            data.mkdir(parents=True, exist_ok=True)
            if self._small_disks is not None:
                await self._small_disks.mount(node, data)
            if self._clocks is not None:
                self._clocks.give(node, home / "clock")
            self._hosts.append(
                Host(
                    node=node,
                    address=LOOPBACK,
                    home=PurePosixPath(home),
                    data=PurePosixPath(data),
                )
            )
        if self._proxied is not None:
            await self._proxied.up(death_warrant(), {})
        return self.hosts

    async def down(self) -> None:
        try:
            if self._proxied is not None:
                await self._proxied.down()
            kills = (process.kill() for process in self._processes)
            failures = await asyncio.gather(*kills, return_exceptions=True)
        finally:
            self._processes.clear()
            self._hosts.clear()
            self._ports.clear()
            self._held.release()
            if self._clocks is not None:
                self._clocks.take_away()
            if self._small_disks is not None:
                await self._small_disks.unmount()
        for failure in failures:
            if failure is not None:
                raise failure

    def port(self, node: Node, usual: int) -> int:
        key = self._host(node).node, usual
        if key not in self._ports:
            self._ports[key] = self._held.hold()
        return self._ports[key]

    def port_behind(self, node: Node, usual: int) -> int:
        return self.port(node, usual if self._proxied is None else usual_behind(usual))

    async def run(self, node: Node, argv: Sequence[str], *, within_s: float = 60) -> Completed:
        with _kept_in_memory("stdout") as stdout, _kept_in_memory("stderr") as stderr:
            try:
                process = self._start(node, argv, stdout.path, stderr.path)
            except FileNotFoundError as error:
                return Completed(tuple(argv), _NOT_FOUND, "", str(error))
            try:
                async with asyncio.timeout(within_s):
                    exit_code = await process.wait()
            except TimeoutError:
                raise NotInTimeError(
                    f"timed out after {within_s:g} s waiting until "
                    f"{argv[0]} ends on {node}; it was killed"
                ) from None
            finally:
                await process.kill()
                self._processes.remove(process)
            return Completed(tuple(argv), exit_code, stdout.text(), stderr.text())

    async def spawn(
        self,
        node: Node,
        argv: Sequence[str],
        *,
        stdout: PurePosixPath,
        stderr: PurePosixPath,
    ) -> LocalProcess:
        if self._proxied is not None:
            doors = {self.port(node, one): self.port_behind(node, one) for one in PROXIED_PORTS}
            await self._proxied.stand_before(node, LOOPBACK, doors)
        if self._clocks is None:
            return self._start(node, argv, Path(stdout), Path(stderr))
        shifted = self._clocks.command(node, argv)
        process = self._start(node, shifted, Path(stdout), Path(stderr))
        self._clocks.watch(node, process, Path(f"/proc/{process.pid}/maps"))
        return process

    def _start(self, node: Node, argv: Sequence[str], stdout: Path, stderr: Path) -> LocalProcess:
        home = Path(self._host(node).home)
        process = LocalProcess(argv, cwd=home, stdout=stdout, stderr=stderr)
        self._processes.append(process)
        return process

    def client_command(self, argv: Sequence[str]) -> Sequence[str]:
        """As it is: clients live where the nodes do."""
        return argv

    async def ask(self, question: Callable[[], _Answer]) -> _Answer:
        """Questions have bounds of their own: those of the client that asks them."""
        return await asyncio.to_thread(question)

    async def put(self, node: Node, content: bytes, target: PurePosixPath) -> None:
        self._host(node)
        await _in_time(asyncio.to_thread(_write, Path(target), content), f"{node} takes {target}")

    async def get(self, node: Node, source: PurePosixPath, into: Path) -> None:
        self._host(node)
        copying = asyncio.to_thread(shutil.copyfile, source, into)
        await _in_time(copying, f"{node} hands out {source}")

    def _host(self, node: Node) -> Host:
        for host in self._hosts:
            if host.node == node:
                return host
        raise ValueError(f"there is no node {node} here, only {[one.node for one in self._hosts]}")


class _InMemory:
    """A file without a name; what a command writes there costs no file on any disk."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.path = Path(f"/proc/{os.getpid()}/fd/{descriptor}")

    def text(self) -> str:
        size = os.fstat(self._descriptor).st_size
        return os.pread(self._descriptor, size, 0).decode(errors="replace")


@contextmanager
def _kept_in_memory(name: str) -> Iterator[_InMemory]:
    descriptor = os.memfd_create(name)
    try:
        yield _InMemory(descriptor)
    finally:
        os.close(descriptor)


async def _in_time(transfer: Awaitable[object], what: str) -> None:
    """A disk that does not answer keeps the thread, but not who waits for it."""
    try:
        async with asyncio.timeout(_TRANSFER_WITHIN_S):
            await transfer
    except TimeoutError:
        raise NotInTimeError(
            f"timed out after {_TRANSFER_WITHIN_S:g} s waiting until {what}"
        ) from None


def _write(target: Path, content: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


def _check(place: LocalPlace) -> Place:
    """Has mypy hold it to what systems expect."""
    return place
