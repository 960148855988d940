"""Opens and writes files of a stored run, and nothing else.

A store may have come from elsewhere, or lie where others write. So a name leads to a regular file
below the run's own directory or nowhere: no part of it is a link (`O_NOFOLLOW`), and a pipe does
not make anybody wait for its other end (`O_NONBLOCK`). What is checked is what was opened, so
there is no moment in between.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final

from harness.errors import EnvironmentFailure

BYTES_MAX: Final = 1 << 28
"""Of a file that is read as a whole; the largest that a run writes has a few million bytes."""


class MissingError(EnvironmentFailure):
    """A run has no such file: it came to no end, or its kind does not write one."""


class DamagedError(EnvironmentFailure):
    """A file of a run is not what a run writes, or cannot be read."""

    def __init__(self, path: Path, why: str, to_try: str = "") -> None:
        self.path = path
        self.why = why
        super().__init__(f"{path} is damaged: {why}" + (f"; {to_try}" if to_try else ""))


def open_inside(directory: Path, name: str) -> BinaryIO:
    """The regular file of this name (`n1/broker.log`), for reading; MissingError, DamagedError."""
    path = directory / name
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or PurePosixPath(name).is_absolute():
        raise DamagedError(path, "the name leads out of the run")
    try:
        at = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for number, part in enumerate(parts, 1):
                kind = os.O_NONBLOCK if number == len(parts) else os.O_DIRECTORY
                flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | kind
                below = os.open(part, flags, dir_fd=at)
                os.close(at)
                at = below
            if not stat.S_ISREG(os.fstat(at).st_mode):
                raise DamagedError(path, "it is no regular file")
            return os.fdopen(at, "rb")
        except BaseException:
            os.close(at)
            raise
    except FileNotFoundError:
        raise MissingError(f"{path} does not exist") from None
    except OSError as error:
        why = "it is a link" if error.errno == errno.ELOOP else f"{error.strerror}"
        raise DamagedError(path, why) from None
    except ValueError as error:  # a zero byte in the name
        raise DamagedError(path, str(error)) from None


def read_inside(directory: Path, name: str) -> bytes:
    with open_inside(directory, name) as file:
        content = file.read(BYTES_MAX + 1)
    if len(content) > BYTES_MAX:
        raise DamagedError(directory / name, f"it has more than {BYTES_MAX:,} bytes")
    return content


def text_inside(directory: Path, name: str) -> str:
    """As text to be shown: bytes that are no UTF-8 become U+FFFD. Empty if there is no file."""
    try:
        return read_inside(directory, name).decode(errors="replace")
    except MissingError:
        return ""


def refuse_strangers(directory: Path, *names: str) -> None:
    """DamagedError if one of these files or directories, or a file in them, is a link or no file.

    For readers that open files by themselves. Those that do not exist are let be.
    """
    for name in names:
        path = directory / name
        try:
            mode = path.lstat().st_mode
            inner = [*path.iterdir()] if stat.S_ISDIR(mode) else [path]
            for each in inner:
                if not stat.S_ISREG(each.lstat().st_mode):
                    raise DamagedError(each, "it is no regular file of this run")
        except FileNotFoundError:
            continue
        except OSError as error:
            raise DamagedError(path, f"{error.strerror}") from None


def write_inside(directory: Path, name: str, text: str) -> None:
    """Replaces the file as a whole, so that nobody finds half of it, and follows no link."""
    with _replacing(directory / name) as fresh, fresh.open("x", encoding="utf-8") as file:
        # A value may hold half of a character, which JSON can tell and UTF-8 cannot.
        file.write(text.encode(errors="backslashreplace").decode())
        file.flush()


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with suppress(FileNotFoundError):
        fresh.unlink()
    try:
        yield fresh
        fresh.replace(path)
    except BaseException:
        with suppress(OSError):
            fresh.unlink()
        raise
