"""Where things are kept that can be made again: in the user's cache, never in the repository."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_directory(name: str) -> Path:
    """Made if it is missing."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    directory = Path(base) / "log-trial" / name
    directory.mkdir(parents=True, exist_ok=True)
    return directory


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Only one process of this machine at a time makes what belongs there. Blocks."""
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
