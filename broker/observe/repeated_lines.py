"""Limits log lines that strangers cause, so that no client can fill a disk with them."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter

LINES_OF_ONE_SOURCE = 5
LINES_OF_ALL_SOURCES = 50
WINDOW_S = 60.0


class RepeatedLines:
    """Writes the first lines of each window of time, counts the rest, and reports that count.

    Two lines are alike when they have the same format and the same source, for example the
    host of a client. In each window `LINES_OF_ONE_SOURCE` of them are written, and at most
    `LINES_OF_ALL_SOURCES` lines of any kind. One line for each format then gives the number of
    lines left out and the last of them. Windows are measured by the loop's time, so a simulated
    node writes the same lines in each run of a seed.
    """

    def __init__(self, log: logging.Logger) -> None:
        """Called with a running loop."""
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._window_end = 0.0
        self._written: Counter[tuple[str, str]] = Counter()
        self._left_out: dict[str, tuple[int, int, tuple[object, ...]]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def warning(self, source: str, message: str, *arguments: object) -> None:
        self._write(logging.WARNING, source, message, arguments, None)

    def error(
        self, source: str, message: str, *arguments: object, exc_info: Exception | None = None
    ) -> None:
        self._write(logging.ERROR, source, message, arguments, exc_info)

    def report(self) -> None:
        """Writes how many lines were left out until now, and begins a new window."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        left_out, self._left_out = self._left_out, {}
        self._written.clear()
        self._window_end = 0.0
        for message, (count, level, arguments) in left_out.items():
            last = message % arguments if arguments else message
            self._log.log(level, "left out %d more lines like this one: %s", count, last)

    def _write(
        self,
        level: int,
        source: str,
        message: str,
        arguments: tuple[object, ...],
        exc_info: Exception | None,
    ) -> None:
        now = self._loop.time()
        if now >= self._window_end:
            self.report()
            self._window_end = now + WINDOW_S
        key = message, source
        # Nothing is remembered of a line that is left out but its count, so a flood from ever
        # new sources takes no memory.
        if (
            self._written[key] < LINES_OF_ONE_SOURCE
            and self._written.total() < LINES_OF_ALL_SOURCES
        ):
            self._written[key] += 1
            self._log.log(level, message, *arguments, exc_info=exc_info)
            return
        count, _, _ = self._left_out.get(message, (0, level, arguments))
        self._left_out[message] = count + 1, level, arguments
        if self._timer is None:
            self._timer = self._loop.call_at(self._window_end, self.report)
