"""Which end of a file was written moments ago, and is therefore in memory without asking.

The kernel cannot drop a page before it is written back, and a page written back a few seconds ago
is the last it would drop. Reading the tail of a log is what most consumers do all the time, so
the usual read costs no system call. Should memory be so short that the guess is wrong, one read
waits for the device; no byte is ever wrong.
"""

from __future__ import annotations

GENERATION_S = 5.0


class YoungTail:
    """Remembers where the present and the last generation of appends began."""

    __slots__ = ("_began_s", "_last_start", "_start")

    def __init__(self) -> None:
        self._began_s = float("-inf")
        self._start = 0
        self._last_start = 0

    def appended(self, position: int, now_s: float) -> None:
        age_s = now_s - self._began_s
        if age_s < GENERATION_S:
            return
        self._last_start = self._start if age_s < 2 * GENERATION_S else position
        self._start = position
        self._began_s = now_s

    def truncated(self, size: int) -> None:
        self._start = min(self._start, size)
        self._last_start = min(self._last_start, size)

    def covers(self, position: int, now_s: float) -> bool:
        age_s = now_s - self._began_s
        if age_s < GENERATION_S:
            return position >= self._last_start
        return age_s < 2 * GENERATION_S and position >= self._start
