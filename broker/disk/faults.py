"""Faults that a disk in memory has been told to show."""

from __future__ import annotations

import errno
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

CHANGING = frozenset(
    ("append", "create", "delete", "delete_directory", "make_directory", "rename", "replace",
     "truncate", "write_again")
)  # fmt: skip
"""The operations that a read-only disk refuses."""


_MESSAGES = {
    errno.EIO: "Input/output error",
    errno.EBADF: "Bad file descriptor",
    errno.EMFILE: "Too many open files",
    errno.ENOSPC: "No space left on device",
    errno.EROFS: "Read-only file system",
}
"""As the kernel's own library words them."""


@dataclass(slots=True)
class Fault:
    """Meets operations and paths by shell patterns, `times` times or for ever."""

    operation: str
    path: str
    error: int | None
    delay_s: float
    times: int | None
    hits: int = 0

    def meets(self, operation: str, path: str) -> bool:
        if self.times is not None and self.hits >= self.times:
            return False
        return fnmatchcase(operation, self.operation) and fnmatchcase(path, self.path)


@dataclass(slots=True)
class Faults:
    is_read_only: bool = False
    _faults: list[Fault] = field(default_factory=list)

    def add(self, fault: Fault) -> Fault:
        self._faults.append(fault)
        return fault

    def clear(self) -> None:
        self._faults.clear()
        self.is_read_only = False

    def delay_s(self, operation: str, path: str) -> float:
        seconds = 0.0
        for fault in self._faults:
            if fault.delay_s and fault.meets(operation, path):
                fault.hits += 1
                seconds += fault.delay_s
        return seconds

    def check(self, operation: str, path: str) -> None:
        if self.is_read_only and operation in CHANGING:
            raise fault_error(errno.EROFS, path)
        for fault in self._faults:
            if fault.error is not None and fault.meets(operation, path):
                fault.hits += 1
                raise fault_error(fault.error, path)


def disk_error(number: int, path: str) -> OSError:
    return OSError(number, _MESSAGES.get(number, errno.errorcode[number]), path)


def fault_error(number: int, path: str) -> OSError:
    """An error that a fault has made. Others, such as of a closed file, are the broker's own."""
    error = disk_error(number, path)
    error.is_from_fault = True  # type: ignore[attr-defined]
    return error


def is_from_fault(error: BaseException) -> bool:
    return getattr(error, "is_from_fault", False)
