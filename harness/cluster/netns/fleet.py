"""All hosts of a place with their switch: made, booted, switched off one by one, taken down."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for_all
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from harness.cluster.capabilities import Node
from harness.cluster.errors import NodeFailedError
from harness.cluster.netns.addresses import CLIENTS, CLIENTS_ADDRESS, Address, address_of
from harness.cluster.netns.identities import make_identities
from harness.cluster.netns.loop_disk import LoopDisk
from harness.cluster.netns.machine import Blueprint, Machine
from harness.cluster.netns.memory_disk import MemoryDisk
from harness.cluster.netns.reach import mailbox
from harness.cluster.netns.registry import Claim, claim, heal
from harness.cluster.netns.rootless import is_rootless
from harness.cluster.netns.switch import Switch
from harness.cluster.netns.tools import check_machine
from harness.cluster.remote.shell import Login, Shell
from harness.cluster.remote.spawned import SpawnedProcess
from harness.errors import EnvironmentFailure

_SSH_PORT = 22
_BOOT_WITHIN_S = 30.0
_CONNECT_WITHIN_S = 5.0
_ENDED_WITHIN_S = 30.0
"""How long to wait for threads that were cancelled; what they still hold goes with this process."""
_POLL_S = 0.005
_HIDDEN = Path("/run")
_COMPANIONS = "companions"

_Result = TypeVar("_Result")


@dataclass(slots=True)
class HostOnSwitch:
    machine: Machine
    shell: Shell
    mailbox: socket.socket | None = None
    """Ours, in its namespace; None while it is off."""
    switching: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by whoever switches it on or off: two at once would each hold half of a host."""
    processes: list[SpawnedProcess] = field(default_factory=list)


class Fleet:
    def __init__(self, directory: Path, disk_bytes: int, threads: Executor) -> None:
        self._directory = directory
        self._disk_bytes = disk_bytes
        self._threads = threads
        self._claim: Claim | None = None
        self._switch: Switch | None = None
        self._launcher = ThreadPoolExecutor(1, thread_name_prefix="netns-launcher")
        self._under_way: set[Future[Any]] = set()
        self._launching: set[Future[Any]] = set()
        self._is_ending = False
        self.hosts: dict[Node, HostOnSwitch] = {}
        self.when_plugged_in: Callable[[Collection[Node]], Awaitable[None]] | None = None
        """Called for hosts that have their links but have not sent anything yet."""

    @property
    def switch(self) -> Switch:
        if self._switch is None:
            raise RuntimeError("the place is not up")
        return self._switch

    @property
    def claim(self) -> Claim:
        if self._claim is None:
            raise RuntimeError("the place is not up")
        return self._claim

    def host(self, node: Node) -> HostOnSwitch:
        if node not in self.hosts:
            raise ValueError(f"there is no node {node} here, only {list(self.hosts)}")
        return self.hosts[node]

    def mailboxes(self) -> dict[Node, socket.socket]:
        """Of the hosts that are on."""
        return {node: one.mailbox for node, one in self.hosts.items() if one.mailbox is not None}

    async def up(self, count: int) -> None:
        if self._claim is not None:
            raise RuntimeError("the place is up already")
        check_machine()
        if self._directory.resolve().is_relative_to(_HIDDEN):
            raise EnvironmentFailure(
                f"hosts have a {_HIDDEN} of their own and would not see {self._directory}"
            )
        await self.call(heal)
        self._claim = await self.call(claim)
        addresses = {f"n{number}": address_of(number) for number in range(1, count + 1)}
        addresses[CLIENTS] = CLIENTS_ADDRESS
        for node, address in addresses.items():
            self.hosts[node] = self._planned(node, address)
        await asyncio.gather(
            self.call(_import_ssh),
            self.call(lambda: self._lay_out(addresses)),
            self.call(self._make_switch),
        )
        await self.call(self.claim.cgroup.below(_COMPANIONS).make)
        await self.boot(self.hosts)

    async def boot(self, nodes: Collection[Node]) -> list[Node]:
        """Returns when each of them answers over ssh; if one does not, all of these are off.

        Those that are on already stay as they are. Returns those that were not.
        """
        async with AsyncExitStack() as switching:
            # In one order, so that two who boot several do not wait for each other.
            for node in sorted(nodes):
                await switching.enter_async_context(self.host(node).switching)
            booted = [self.host(node) for node in nodes if not self.host(node).machine.is_on]
            try:
                await self._boot(booted)
            except BaseException:
                await self._end(booted)
                for host in booted:
                    # It may not have come so far as to have any.
                    with suppress(EnvironmentFailure):
                        await self.switch.unplug(host.machine.address)
                raise
            return [host.machine.node for host in booted]

    async def _boot(self, booted: Sequence[HostOnSwitch]) -> None:
        if not booted:
            return
        await asyncio.gather(*(self.launch(host.machine.launch) for host in booted))
        _raise_first(await self._each(booted, lambda host: host.machine.wait_until_born()))
        await self.switch.plug_in((host.machine.address, host.machine.pid) for host in booted)
        if self.when_plugged_in is not None:
            await self.when_plugged_in([host.machine.node for host in booted])
        _raise_first(await self._each(booted, lambda host: host.machine.go()))
        _raise_first(await self._each(booted, self._wait_until_up))
        await asyncio.gather(*(host.shell.open() for host in booted))

    async def switch_off(self, node: Node, *, just_before: Callable[[Machine], None]) -> None:
        """At once: nobody there sees it coming, and nobody elsewhere hears a farewell.

        `just_before` is called when nothing on the host runs any more.
        """
        host = self.host(node)
        async with host.switching:
            try:
                await self.call(host.machine.cgroup.freeze)
                await self.switch.unplug(host.machine.address)
                await self.call(lambda: just_before(host.machine))
            finally:
                _raise_first(await self._end([host]))

    async def _end(self, hosts: Collection[HostOnSwitch]) -> list[BaseException | None]:
        """Returns what went wrong."""
        launching, under_way = list(self._launching), list(self._under_way)
        await self._let_go(hosts)
        # Whoever was cancelled has left threads behind that may just have begun something.
        await self.call(lambda: wait_for_all(launching, _ENDED_WITHIN_S))
        ended = await self._each(hosts, lambda host: host.machine.end())
        await self.call(lambda: wait_for_all(under_way, _ENDED_WITHIN_S))
        await self._let_go(hosts)
        return ended

    async def down(self) -> None:
        """Safe at any time, also halfway through `up`."""
        if self._claim is None:
            return
        self._is_ending = True
        # First all at once, so that no broker has time to miss another.
        await self.call(self.claim.cgroup.kill)
        ended = await self._end(self.hosts.values())
        if self._switch is not None:
            await self.call(self._switch.close)
        await self.call(self._claim.release)
        self._claim = self._switch = None
        self._is_ending = False
        self.hosts.clear()
        _raise_first(ended)

    def companion(self, argv: Sequence[str]) -> list[str]:
        """What to execute for a process of this machine that is to end with the place."""
        doors = self.claim.cgroup.below(_COMPANIONS).doors
        join = "".join(f"echo $$ >{door} && " for door in doors)
        return ["/bin/sh", "-c", f'{join}exec "$@"', "companion", *argv]

    async def call(self, act: Callable[[], _Result]) -> _Result:
        """In a thread, because it blocks."""
        future = self._threads.submit(act)
        self._under_way.add(future)
        future.add_done_callback(self._under_way.discard)
        return await asyncio.wrap_future(future)

    async def launch(self, act: Callable[[], _Result]) -> _Result:
        """In the one thread that lives as long as we do: what is told to die with it dies late."""
        future = self._launcher.submit(act)
        self._launching.add(future)
        future.add_done_callback(self._launching.discard)
        return await asyncio.wrap_future(future)

    async def _each(
        self, hosts: Iterable[HostOnSwitch], act: Callable[[HostOnSwitch], None]
    ) -> list[BaseException | None]:
        """Returns what went wrong, when all are done."""
        calls = (self.call(partial(act, host)) for host in hosts)
        return await asyncio.gather(*calls, return_exceptions=True)

    def _planned(self, node: Node, address: Address) -> HostOnSwitch:
        state = self.claim.directory / node
        home = self._directory / node
        image = self._directory / f"{node}.img"
        disk = None if node == CLIENTS else self._disk(image)
        blueprint = Blueprint(node=node, address=address, home=home, state=state, disk=disk)
        login = Login(
            address=address.management,
            user="root",
            key_file=self.claim.directory / "key",
            known_hosts=self.claim.directory / "known_hosts",
        )
        shell = Shell(
            node,
            login,
            dial=lambda: self.switch.dial(
                address.management, _SSH_PORT, within_s=_CONNECT_WITHIN_S
            ),
            home=PurePosixPath(home),
            threads=self._threads,
        )
        return HostOnSwitch(Machine(blueprint, self.claim.cgroup.below(node)), shell)

    def _disk(self, image: Path) -> LoopDisk | MemoryDisk:
        return MemoryDisk(self._disk_bytes) if is_rootless() else LoopDisk(image, self._disk_bytes)

    def _lay_out(self, addresses: dict[Node, Address]) -> None:
        """All files that the hosts need before they boot."""
        directory = self.claim.directory
        names = [f"{address.data} {node}" for node, address in addresses.items()]
        (directory / "hosts").write_text("\n".join(["127.0.0.1 localhost", *names, ""]))
        disks = []
        for host in self.hosts.values():
            blueprint = host.machine.blueprint
            blueprint.data.mkdir(parents=True, exist_ok=True)
            if isinstance(blueprint.disk, LoopDisk):
                self.claim.will_make(blueprint.disk.image)
                disks.append(self._threads.submit(blueprint.disk.make))
        make_identities(directory, {node: one.management for node, one in addresses.items()})
        for disk in disks:
            disk.result()

    def _make_switch(self) -> None:
        self._switch = Switch()

    def _wait_until_up(self, host: HostOnSwitch) -> None:
        machine = host.machine

        def open_mailbox() -> None:
            host.mailbox = mailbox(machine.pid, machine.address.data)

        def knock() -> None:
            # Not for long: what is sent too early is lost, and TCP waits for a second then.
            self.switch.dial(machine.address.management, _SSH_PORT, within_s=0.1).close()

        # The address comes with the links, a moment after the host was told of them; then sshd.
        self._insist(machine, open_mailbox)
        self._insist(machine, knock)

    def _insist(self, machine: Machine, attempt: Callable[[], None]) -> None:
        until_s = time.monotonic() + _BOOT_WITHIN_S
        while True:
            try:
                attempt()
            except OSError as error:
                is_over = time.monotonic() > until_s or machine.has_ended or self._is_ending
                if is_over:
                    raise NodeFailedError(
                        f"{machine.node} did not come up: {error}; it said:\n{machine.last_words()}"
                    ) from None
                time.sleep(_POLL_S)
            else:
                return

    async def _let_go(self, hosts: Collection[HostOnSwitch]) -> None:
        """Of whatever keeps a host's namespace alive, or would ask it in vain."""
        for host in hosts:
            if host.mailbox is not None:
                host.mailbox.close()
                host.mailbox = None
            for process in host.processes:
                process.lose()
            host.processes.clear()
        # ssh says goodbye, and waits for its own thread.
        await self._each(hosts, _hang_up)


def _hang_up(host: HostOnSwitch) -> None:
    with suppress(OSError, EOFError):
        host.shell.close()


def _raise_first(results: Iterable[BaseException | None]) -> None:
    for result in results:
        if result is not None:
            raise result


def _import_ssh() -> None:
    """Takes a good part of a second, while which the machine can make keys and disks."""
    import fabric  # noqa: F401
