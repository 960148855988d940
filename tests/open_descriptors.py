"""The open files of this process below one folder, whatever else it has open."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path


def open_below(root: Path) -> int:
    count = 0
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile, by a thread
            count += entry.readlink().is_relative_to(root)
    return count


async def settle(root: Path) -> None:
    """Waits until none is open: a thread holds its last result a moment longer than we do."""
    for _ in range(1000):
        if not open_below(root):
            return
        await asyncio.sleep(0.001)
    raise AssertionError(f"{open_below(root)} files below {root} stay open")
