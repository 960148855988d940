"""What may befall the disks of one simulated node; every fault gives its own undo."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping

from broker.disk.memory import MemoryDisk

Undo = Callable[[], None]


class DiskFaults:
    def __init__(self, disks: Mapping[str, MemoryDisk]) -> None:
        self._disks = tuple(disks.values())
        self.struck = 0
        """How often something befell them that may cost a write; to be slow costs none."""
        self._limits: dict[MemoryDisk, list[int]] = {disk: [] for disk in self._disks}

    def fill(self, spare_bytes: int = 0) -> Undo:
        """No more room than this from now on, on each disk."""
        self.struck += 1
        taken = [(disk, disk._used_bytes() + spare_bytes) for disk in self._disks]
        for disk, limit in taken:
            self._limits[disk].append(limit)
        self._apply_limits()

        def undo() -> None:
            for disk, limit in taken:
                if limit in self._limits[disk]:
                    self._limits[disk].remove(limit)
            self._apply_limits()

        return undo

    def fail(self, operation: str = "*", path: str = "*", error: int = errno.EIO) -> Undo:
        self.struck += 1
        faults = [disk.fail(operation, path, error=error) for disk in self._disks]

        def undo() -> None:
            for fault in faults:
                fault.times = 0

        return undo

    def slow(self, seconds: float, operation: str = "*", path: str = "*") -> Undo:
        faults = [disk.slow(operation, path, seconds=seconds) for disk in self._disks]

        def undo() -> None:
            for fault in faults:
                fault.times = 0

        return undo

    def make_read_only(self) -> Undo:
        """A second one takes the place of the first, and the first undo ends both."""
        self.struck += 1
        for disk in self._disks:
            disk.faults.is_read_only = True

        def undo() -> None:
            for disk in self._disks:
                disk.faults.is_read_only = False

        return undo

    def heal(self) -> None:
        """Ends them all."""
        for disk in self._disks:
            disk.heal()
            self._limits[disk].clear()
        self._apply_limits()

    def _apply_limits(self) -> None:
        for disk, limits in self._limits.items():
            disk.capacity_bytes = min(limits, default=None)
