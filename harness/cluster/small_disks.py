"""disk: gives each local node a small file system of its own, which can be filled and freed.

The file systems are in memory (tmpfs), which root may mount. Full means what it means on a disk:
ENOSPC for whoever writes, and nothing else.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Collection
from pathlib import Path

from harness.cluster.capabilities import DiskFault, Disks, Node, StoredDamage
from harness.cluster.errors import FaultMissedError
from harness.errors import EnvironmentFailure

_BALLAST = "ballast"
_ATTEMPTS = 100
_REASONS: dict[DiskFault, str] = {
    "slow": "a file system in memory waits for no device, so nothing can slow it down",
    "fail": "a file system in memory has no device that could fail",
    "read-only": "a file system in memory that is in use cannot be made read-only",
    "bit-flip": "nobody flips bits in a file system in memory",
    "truncate": "nobody cuts files in a file system in memory",
    "power": "local nodes share this machine's power",
}


class SmallDisks:
    def __init__(self, size_bytes: int) -> None:
        self._size_bytes = size_bytes
        self._mounts: dict[Node, Path] = {}

    async def mount(self, node: Node, directory: Path) -> None:
        options = f"size={self._size_bytes},mode=0755"
        await _must("mount", "-t", "tmpfs", "-o", options, "tmpfs", str(directory))
        self._mounts[node] = directory

    async def unmount(self) -> None:
        while self._mounts:
            _, directory = self._mounts.popitem()
            # Lazily: a process that is only just gone may still count as a user of it.
            await _must("umount", "--lazy", str(directory))

    def why_not(self, fault: DiskFault) -> str | None:
        return _REASONS.get(fault)

    async def slow(self, node: Node, by_s: float) -> None:
        raise FaultMissedError(_REASONS["slow"])

    async def fail(self, node: Node) -> None:
        raise FaultMissedError(_REASONS["fail"])

    async def make_read_only(self, node: Node) -> None:
        raise FaultMissedError(_REASONS["read-only"])

    async def flip_bit(self, node: Node, draw: float) -> StoredDamage:
        raise FaultMissedError(_REASONS["bit-flip"])

    async def truncate_tail(self, node: Node, draw: float) -> StoredDamage:
        raise FaultMissedError(_REASONS["truncate"])

    async def lose_power(self, node: Node) -> None:
        raise FaultMissedError(_REASONS["power"])

    async def restore_power(self, node: Node) -> None:
        """It never went."""

    async def fill(self, node: Node) -> None:
        directory = self._mounts[node]
        for _ in range(_ATTEMPTS):
            free = _free_bytes(directory)
            if free == 0:
                return
            _grow(directory / _BALLAST, free)
            await asyncio.sleep(0)
        raise FaultMissedError(f"{node} still has {_free_bytes(directory)} bytes of disk free")

    async def heal(self, *, but: Collection[Node] = ()) -> None:
        for node, directory in self._mounts.items():
            if node not in but:
                (directory / _BALLAST).unlink(missing_ok=True)

    async def free_bytes(self, node: Node) -> int:
        return _free_bytes(self._mounts[node])


def _free_bytes(directory: Path) -> int:
    found = os.statvfs(directory)
    return found.f_bavail * found.f_frsize


def _grow(ballast: Path, more: int) -> None:
    with ballast.open("ab") as file:
        try:
            os.posix_fallocate(file.fileno(), file.tell(), more)
        except OSError as error:
            # The node took some of it meanwhile: what is left is asked for again.
            if error.errno != errno.ENOSPC:
                raise


async def _must(*argv: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    _, complaint = await process.communicate()
    if process.returncode != 0:
        raise EnvironmentFailure(
            f"cannot give a node a disk of its own, which takes root: {complaint.decode().strip()}"
        )


def _check(disks: SmallDisks) -> Disks:
    """Has mypy hold it to what nemeses expect."""
    return disks
