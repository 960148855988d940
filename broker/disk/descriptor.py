"""A file descriptor shared with threads, and what threads do with one."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from threading import Lock

WARM_SIZE = 256 * 1024


class Descriptor:
    """A file descriptor that is not closed while a thread works with it.

    Its number might be given to another file at once, and that file be synced in its place.
    """

    __slots__ = ("_is_closing", "_lock", "_users", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self._lock = Lock()
        self._users = 0
        self._is_closing = False

    @property
    def is_used(self) -> bool:
        return self._users > 0

    def acquire(self) -> None:
        with self._lock:
            if self._is_closing:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            self._users += 1

    def release(self) -> None:
        with self._lock:
            self._users -= 1
            self._close_if_unused()

    def close(self) -> None:
        with self._lock:
            self._is_closing = True
            self._close_if_unused()

    def _close_if_unused(self) -> None:
        if self._is_closing and self._users == 0 and self.number >= 0:
            number, self.number = self.number, -1
            os.close(number)

    def __del__(self) -> None:
        """For what nobody closed, and for work that was cancelled before it began."""
        if self.number >= 0:
            os.close(self.number)


def read_and_forget(descriptor: Descriptor, position: int, end: int) -> None:
    buffer = [bytearray(min(WARM_SIZE, end - position))]
    try:
        while position < end:
            count = os.preadv(descriptor.number, buffer, position)
            if count == 0:
                return
            position += count
    finally:
        descriptor.release()


def write_again(descriptor: Descriptor, position: int, end: int) -> None:
    try:
        while position < end:
            data = os.pread(descriptor.number, min(WARM_SIZE, end - position), position)
            count = os.pwrite(descriptor.number, data, position)
            if count == 0:
                raise OSError(errno.EIO, "the file ended while it was written again")
            position += count
    finally:
        descriptor.release()


def fdatasync(descriptor: Descriptor) -> None:
    try:
        os.fdatasync(descriptor.number)
    finally:
        descriptor.release()


def open_descriptor(place: Path, flags: int) -> Descriptor:
    return Descriptor(os.open(place, flags | os.O_CLOEXEC, 0o644))


def is_same_file(descriptor: Descriptor, identity: tuple[int, int]) -> bool:
    found = os.fstat(descriptor.number)
    return (found.st_dev, found.st_ino) == identity


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
