"""Makes free memory equally cheap for every system that a round measures.

On a virtual machine whose hypervisor takes free pages back (free page reporting, a balloon), the
first write to such a page costs a fault on the host: 2.5 us/KB here, where the write itself costs
0.2 us. Which system pays depends on who was lucky with the free list, not on the system: taken
alone our broker produced 750,000 msg/s, in turns with another one 280,000. So the bench holds
memory that it has written to, and frees it when a round begins.
"""

from __future__ import annotations

import mmap

import psutil

_BYTES_PER_SECOND = 2 << 30
"""More than any broker here stores in one second."""
_SIZE_MAX = 3 << 30
"""Enough for a round of 1.5 s, the longest by default."""
_PIECE = b"\1" * (1 << 20)


class Ballast:
    """Held between rounds; while a round is under way its pages are free for the system."""

    def __init__(self, seconds: float) -> None:
        """Size the ballast for rounds of `seconds`: to write 3 GB costs seconds by itself."""
        self._size = min(_SIZE_MAX, int(seconds * _BYTES_PER_SECOND))
        self._memory: mmap.mmap | None = None

    def hold(self) -> None:
        if self._memory is None:
            pieces = min(self._size, psutil.virtual_memory().available // 4) // len(_PIECE)
            self._memory = mmap.mmap(-1, pieces * len(_PIECE))
            for _ in range(pieces):
                self._memory.write(_PIECE)

    def free(self) -> None:
        if self._memory is not None:
            self._memory.close()
            self._memory = None
