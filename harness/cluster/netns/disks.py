"""disk: fills, slows and breaks the disks of hosts, and cuts a host's power."""

from __future__ import annotations

import asyncio
import errno
import os
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TypeVar

from harness.cluster.capabilities import DiskFault, Disks, Node, StoredDamage
from harness.cluster.errors import FaultMissedError
from harness.cluster.netns.addresses import CLIENTS
from harness.cluster.netns.cgroups import why_no_limits
from harness.cluster.netns.fleet import Fleet
from harness.cluster.netns.loop_disk import LoopDisk, why_not_writable
from harness.cluster.netns.machine import Machine
from harness.cluster.netns.rootless import is_rootless
from harness.cluster.stored_damage import flip_bit, truncate_tail
from harness.errors import EnvironmentFailure

_Result = TypeVar("_Result")
_BALLAST = "ballast"
_SMALLEST_BYTES = 4096
_SLOWEST_S = 1.0
_PROBES = 3
_ANSWER_WITHIN_S = 60.0

_ROOTLESS: dict[DiskFault, str] = {
    "power": "without root a host's disk is in memory, and a loss of power would take all of it",
    "slow": "without root a host's disk is in memory, which waits for no device",
    "fail": "without root a host's disk is in memory, where no device can fail",
    "read-only": "without root a host's disk is in memory, and writable for whoever has it open",
}

_MEASURE = f"""
import os, sys, time
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
begun = time.monotonic()
for _ in range({_PROBES}):
    os.write(file, bytes(4096))
    os.fdatasync(file)
print(time.monotonic() - begun)
os.unlink(sys.argv[1])
"""


class HostDisks:
    """A fault on a host that is off raises EnvironmentFailure."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._broken: set[Node] = set()
        """Their file systems are dead for good: only another mount heals them."""
        self._slowed: dict[Node, list[str]] = {}

    def why_not(self, fault: DiskFault) -> str | None:
        if is_rootless():
            return _ROOTLESS.get(fault)
        return why_no_limits() if fault == "slow" else None

    async def fill(self, node: Node) -> None:
        machine = self._on(node)
        await self._told(node, lambda: _fill(machine.data() / _BALLAST))
        free = await self.free_bytes(node)
        if free:
            raise FaultMissedError(f"{node} still has {free} bytes of disk free")

    async def slow(self, node: Node, by_s: float) -> None:
        self._must_be_possible("slow")
        if not 0 < by_s <= _SLOWEST_S:
            raise ValueError(f"a disk is slowed by at most {_SLOWEST_S:g} s, not by {by_s:g} s")
        machine, disk = self._on(node), self._loop_disk(node)

        def slow_down() -> None:
            devices = self._slowed[node] = [_number(device) for device in disk.devices()]
            for device in devices:
                machine.cgroup.limit_writes(device, max(1, round(1 / by_s)))

        await self._told(node, slow_down)
        taken_s = await self._measured_s(node)
        # The first write is for free.
        if taken_s < by_s * (_PROBES - 1) / 2:
            raise FaultMissedError(f"{node} writes {_PROBES} times to its disk in {taken_s:.3f} s")

    async def fail(self, node: Node) -> None:
        self._must_be_possible("fail")
        machine, disk = self._on(node), self._loop_disk(node)
        await self._break(node, lambda: disk.drop_what_is_not_synced(machine.data()), errno.EIO)

    async def make_read_only(self, node: Node) -> None:
        self._must_be_possible("read-only")
        disk = self._loop_disk(node)
        await self._break(node, disk.report_an_error, errno.EROFS)

    async def flip_bit(self, node: Node, draw: float) -> StoredDamage:
        machine = self._on(node)
        return await self._fleet.call(lambda: flip_bit(machine.data(), draw))

    async def truncate_tail(self, node: Node, draw: float) -> StoredDamage:
        machine = self._on(node)
        return await self._fleet.call(lambda: truncate_tail(machine.data(), draw))

    async def lose_power(self, node: Node) -> None:
        self._must_be_possible("power")
        disk = self._loop_disk(node)
        await self._fleet.switch_off(
            node, just_before=lambda machine: disk.drop_what_is_not_synced(machine.data())
        )

    async def restore_power(self, node: Node) -> None:
        await self._switch_on([node])

    async def heal(self, *, but: Collection[Node] = ()) -> None:
        nodes = [node for node in self._fleet.hosts if node != CLIENTS and node not in but]
        await self._switch_on(nodes)
        for node in nodes:
            await self._heal(node)

    async def _switch_on(self, nodes: Collection[Node]) -> None:
        """Those that are off; each comes back with its disk mounted anew."""
        self._broken.difference_update(await self._fleet.boot(nodes))

    async def free_bytes(self, node: Node) -> int:
        machine = self._on(node)
        found = await self._told(node, lambda: os.statvfs(machine.data()))
        return found.f_bavail * found.f_frsize

    async def _heal(self, node: Node) -> None:
        machine = self._on(node)
        if node in self._broken:
            disk, data = self._loop_disk(node), machine.blueprint.data
            await self._fleet.call(lambda: disk.mount_again(machine.pid, data))
            self._broken.discard(node)

        def make_room() -> OSError | None:
            for device in self._slowed.pop(node, ()):
                _lift(machine, device)
            (machine.data() / _BALLAST).unlink(missing_ok=True)
            return why_not_writable(machine.data())

        problem = await self._told(node, make_room)
        if problem is not None:
            raise FaultMissedError(f"the disk of {node} does not heal: {problem}")

    async def _break(self, node: Node, act: Callable[[], None], expected: int) -> None:
        """While the host stands still, with all it wrote on the device: nothing is lost by it."""
        machine, disk = self._on(node), self._loop_disk(node)
        is_whole = node not in self._broken

        def in_one_moment() -> OSError | None:
            machine.cgroup.freeze()
            try:
                if is_whole:
                    disk.sync(machine.data())
                act()
                return why_not_writable(machine.data())
            finally:
                machine.cgroup.thaw()

        self._broken.add(node)
        problem = await self._told(node, in_one_moment)
        if problem is None:
            raise FaultMissedError(f"{node} still writes to its disk")
        if problem.errno != expected:
            raise FaultMissedError(f"the disk of {node} has another fault: {problem}")

    async def _told(self, node: Node, act: Callable[[], _Result]) -> _Result:
        """In a thread, and not for ever: a broken disk may never answer.

        Raises FaultMissedError with what it answers.
        """
        try:
            async with asyncio.timeout(_ANSWER_WITHIN_S):
                return await self._fleet.call(act)
        except TimeoutError:
            why = f"the disk of {node} does not answer within {_ANSWER_WITHIN_S:g} s"
            raise FaultMissedError(why) from None
        except OSError as error:
            raise FaultMissedError(f"the disk of {node} answers {error}") from error

    def _must_be_possible(self, fault: DiskFault) -> None:
        if reason := self.why_not(fault):
            raise FaultMissedError(reason)

    async def _measured_s(self, node: Node) -> float:
        """As a process of the host sees it; nobody else is slowed."""
        shell = self._fleet.host(node).shell
        probe = shell.home / "data" / ".slow"
        done = await shell.run([sys.executable, "-c", _MEASURE, str(probe)])
        if done.exit_code != 0:
            raise EnvironmentFailure(f"{node} cannot measure its disk: {done.stderr.strip()}")
        return float(done.stdout)

    def _on(self, node: Node) -> Machine:
        """Raises if it is off."""
        machine = self._fleet.host(node).machine
        if machine.blueprint.disk is None:
            raise ValueError(f"{node} has no disk of its own")
        machine.pid  # noqa: B018
        return machine

    def _loop_disk(self, node: Node) -> LoopDisk:
        disk = self._on(node).blueprint.disk
        assert isinstance(disk, LoopDisk), "this fault was said to be impossible"
        return disk


def _fill(ballast: Path) -> None:
    """By ever smaller pieces, because a piece that does not fit is refused as a whole."""
    with ballast.open("ab") as file:
        piece = 1 << 30
        while piece >= _SMALLEST_BYTES:
            try:
                os.posix_fallocate(file.fileno(), file.seek(0, os.SEEK_END), piece)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                piece //= 2


def _lift(machine: Machine, device: str) -> None:
    """The limit of a device that is gone went with it."""
    try:
        machine.cgroup.limit_writes(device, None)
    except OSError as error:
        if error.errno not in (errno.ENODEV, errno.ENXIO):
            raise


def _number(device: str) -> str:
    return Path(f"/sys/block/{device}/dev").read_text().strip()


def _check(disks: HostDisks) -> Disks:
    """Has mypy hold it to what nemeses expect."""
    return disks
