"""Creates a file that must not be there yet: as a whole, and on the disk before it has its name.

Hadoop's local file system looks for the file and then opens it, so of two processes that do so at
the same time both succeed, and one of them loses what it wrote.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final
from uuid import uuid4

_WITHOUT_LINKS: Final = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
"""Shared folders of virtual machines, and FAT, have no hard links."""


def create_file(path: Path, text: str) -> None:
    """FileExistsError if the file is there already; nothing is left of a file that fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    hidden = path.with_name(f"_{path.name}.{uuid4().hex[:8]}")
    try:
        with hidden.open("x", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        _give_name(hidden, path)
    finally:
        hidden.unlink(missing_ok=True)
    _sync_directory(path.parent)


def _give_name(hidden: Path, path: Path) -> None:
    try:
        os.link(hidden, path)
    except OSError as error:
        if error.errno not in _WITHOUT_LINKS:
            raise
        # The name is claimed first: until the next line the file is there, and empty.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        hidden.replace(path)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
