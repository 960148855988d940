"""One host's disk where there is no root to mount an image: a file system of its size, in memory.

It can be full. What is on it goes with its host.
"""

from __future__ import annotations

import shlex
from pathlib import Path


class MemoryDisk:
    def __init__(self, size_bytes: int) -> None:
        self._size_bytes = size_bytes

    def make(self) -> None:
        """It comes with its mount."""

    def mount_command(self, directory: Path) -> str:
        options = f"size={self._size_bytes},mode=755"
        return f"mount -n -t tmpfs -o {options} disk {shlex.quote(str(directory))}"

    def wait_until_free(self) -> None:
        """It has no device that anybody could hold."""
