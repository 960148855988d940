"""disk: fills the file system that hosts keep their data on, and damages what is stored there."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Mapping

from harness.cluster.capabilities import DiskFault, Disks, Node, StoredDamage
from harness.cluster.errors import FaultMissedError, NodeFailedError
from harness.cluster.ssh.remote_host import RemoteHost

_BALLAST = "ballast"
_DAMAGED = "damaged "
_MISSED = "missed "
_REASONS: dict[DiskFault, str] = {
    "slow": "nothing stands between these hosts and their disks that could slow them down",
    "fail": "nothing stands between these hosts and their disks that could fail",
    "read-only": "a file system with files open for writing cannot be made read-only",
    "power": "the power of these hosts is not ours to cut",
}

# By ever smaller pieces, because a piece that does not fit is refused as a whole.
_FILL = """
import errno, os, sys
with open(sys.argv[1], "ab") as file:
    piece = 1 << 40
    while piece >= 512:
        try:
            os.posix_fallocate(file.fileno(), file.seek(0, 2), piece)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EFBIG):
                raise
            piece //= 2
"""

_DAMAGE = """
import json, pathlib, sys
from harness.cluster.errors import FaultMissedError
from harness.cluster import stored_damage
act = getattr(stored_damage, sys.argv[1])
try:
    print("damaged", json.dumps(act(pathlib.Path(sys.argv[2]), float(sys.argv[3]))))
except FaultMissedError as missed:
    print("missed", missed)
"""


class HostDisks:
    def __init__(self, hosts: Mapping[Node, RemoteHost]) -> None:
        """`hosts` may be filled later."""
        self._hosts = hosts

    def why_not(self, fault: DiskFault) -> str | None:
        return _REASONS.get(fault)

    async def fill(self, node: Node) -> None:
        host = self._hosts[node]
        ballast = str(host.data / _BALLAST)
        done = await host.shell.run([host.described.python, "-c", _FILL, ballast], within_s=120)
        if done.exit_code != 0:
            raise NodeFailedError(f"{node} cannot fill its disk: {done.stderr.strip()}")
        free = await self.free_bytes(node)
        if free:
            raise FaultMissedError(f"{node} still has {free} bytes of disk free")

    async def slow(self, node: Node, by_s: float) -> None:
        raise FaultMissedError(_REASONS["slow"])

    async def fail(self, node: Node) -> None:
        raise FaultMissedError(_REASONS["fail"])

    async def make_read_only(self, node: Node) -> None:
        raise FaultMissedError(_REASONS["read-only"])

    async def flip_bit(self, node: Node, draw: float) -> StoredDamage:
        return await self._damage(node, "flip_bit", draw)

    async def truncate_tail(self, node: Node, draw: float) -> StoredDamage:
        return await self._damage(node, "truncate_tail", draw)

    async def lose_power(self, node: Node) -> None:
        raise FaultMissedError(_REASONS["power"])

    async def restore_power(self, node: Node) -> None:
        """It never went."""

    async def heal(self, *, but: Collection[Node] = ()) -> None:
        for node, host in self._hosts.items():
            if node in but:
                continue
            ballast = shlex.quote(str(host.data / _BALLAST))
            done = await host.shell.script(f"rm -f {ballast}")
            if done.exit_code != 0:
                raise FaultMissedError(f"the disk of {node} does not heal: {done.stderr.strip()}")

    async def free_bytes(self, node: Node) -> int:
        host = self._hosts[node]
        looking = ["stat", "--file-system", "--format=%a %S", str(host.data)]
        done = await host.shell.run(looking)
        if done.exit_code != 0:
            raise NodeFailedError(f"{node} does not show its disk: {done.stderr.strip()}")
        blocks, size = done.stdout.split()
        return int(blocks) * int(size)

    async def _damage(self, node: Node, act: str, draw: float) -> StoredDamage:
        """By the tree that was installed there: the file's form is known to it."""
        host = self._hosts[node]
        done = await host.shell.run(
            ["../installed/bin/python", "-c", _DAMAGE, act, str(host.data), str(draw)]
        )
        if done.stdout.startswith(_MISSED):
            raise FaultMissedError(done.stdout.removeprefix(_MISSED).strip())
        if done.exit_code != 0:
            raise NodeFailedError(f"{node} cannot damage its data: {done.stderr.strip()[-500:]}")
        return StoredDamage(*json.loads(done.stdout.removeprefix(_DAMAGED)))


def _check(disks: HostDisks) -> Disks:
    """Has mypy hold it to what nemeses expect."""
    return disks
