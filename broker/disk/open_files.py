"""How many files a process keeps open: a bound, and who has to close when it is reached.

A broker has one file for each segment, and `ulimit -n` is often far below the number of segments.
So a file that was not used for a while is closed, and opened again when it is next used. Nothing
but the file itself knows: see `OpenFile` in open_file.py.

The choice is made by a clock with a second chance: a use costs one assignment, and only an open
near the bound looks for a file that was not used since the last look. All of that runs on the loop,
so one open looks at no more than `LOOKS_AT_ONCE` files, however many there are, and the next open
goes on where it stopped. Looking begins one sixteenth below the bound: the clock goes round twice,
and so finds each file that can be closed, before that many files more are open.

A file with bytes that were written and not yet synced is synced before it is closed. The kernel
reports a failed write-back to descriptors that were open at the time, and to the first one that
is opened later, but only as long as it remembers the file: without any descriptor it may forget
the file together with the error, and a later sync would call lost bytes durable. So the sync is
made while there is a descriptor, and an error that it meets is kept for the next `fdatasync`.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from collections import deque
from typing import Protocol
from weakref import ref

_log = logging.getLogger(__name__)

LOOKS_AT_ONCE = 64
"""Twice round takes 2/64 of the limit in opens, half of what `OpenFiles` has left by then."""

_FEWEST = 16
_SYNCS_AT_ONCE = 16
"""Files that are synced at the same time so that they can be closed; that many more are open."""

_FORCED_AT_ONCE = 2
"""More than the one file that is about to be opened, so that the number of files gets smaller."""

_OPENS_AT_ONCE = 8


class Closable(Protocol):
    was_used: bool

    @property
    def is_open(self) -> bool: ...

    @property
    def can_let_go(self) -> bool:
        """Nobody works with the descriptor, and its path leads to the file."""
        ...

    @property
    def is_dirty(self) -> bool: ...

    def let_go(self) -> None:
        """Closes the descriptor. The file opens itself again when it is used."""
        ...

    def sync_now(self) -> None:
        """On the loop. An error is kept for the next `fdatasync`."""
        ...

    async def sync_later(self) -> None:
        """In a thread. An error is kept for the next `fdatasync`."""
        ...


class OpenFiles:
    """Shared by all disks of a process. `limit` None is no limit."""

    def __init__(self, limit: int | None = None) -> None:
        self._limit = None if limit is None else max(limit, _FEWEST)
        self._wanted = 0 if self._limit is None else self._limit - self._limit // 16
        self._open: deque[ref[Closable]] = deque()
        self._syncing: set[asyncio.Task[None]] = set()
        self.opening = asyncio.Semaphore(_OPENS_AT_ONCE)
        """For opens in threads: a file counts only when it is open."""
        self._has_warned = False

    @property
    def is_crowded(self) -> bool:
        """Whether more files are open than may be: none could be closed when one was opened."""
        return self._limit is not None and self._count > self._limit

    @property
    def _count(self) -> int:
        return len(self._open) + len(self._syncing)

    def opened(self, file: Closable) -> None:
        if self._limit is not None:
            self._open.append(ref(file))

    def make_room(self) -> None:
        """Before a file is opened. Closes files that were not used for a while, if it finds any."""
        if self._limit is None or len(self._open) < self._wanted:
            return
        for _ in range(min(LOOKS_AT_ONCE, 2 * len(self._open))):
            if len(self._open) < self._wanted:
                return
            self._look_at(self._open.popleft())
        if self._count > self._limit + _SYNCS_AT_ONCE:
            self._warn()
            self._force(_FORCED_AT_ONCE, LOOKS_AT_ONCE)

    def makes_way(self, problem: OSError) -> bool:
        """Whether to try again to open a file: connections had taken more than their part."""
        if problem.errno not in (errno.EMFILE, errno.ENFILE):
            return False
        self._warn()
        return self._force(_OPENS_AT_ONCE, len(self._open)) > 0

    def _look_at(self, found: ref[Closable]) -> None:
        file = found()
        if file is None or not file.is_open:
            return
        if file.was_used:
            file.was_used = False
        elif file.can_let_go:
            if not file.is_dirty:
                file.let_go()
                return
            if len(self._syncing) < _SYNCS_AT_ONCE:
                task = asyncio.get_running_loop().create_task(self._sync_and_let_go(file))
                self._syncing.add(task)
                task.add_done_callback(self._syncing.discard)
                return
        self._open.append(found)

    async def _sync_and_let_go(self, file: Closable) -> None:
        await file.sync_later()
        if file.is_open:
            if file.can_let_go and not file.is_dirty:
                file.let_go()
            else:
                self._open.append(ref(file))

    def _warn(self) -> None:
        if not self._has_warned:
            self._has_warned = True
            _log.warning(
                "more than %s segments are in use and no more files may be open, so that each "
                "write may wait for the disk; raise the limit of open files (ulimit -n)",
                self._limit,
            )

    def _force(self, count: int, looks: int) -> int:
        """Closes up to `count` files, used or not, and returns how many were.

        More files are written to than may be open: the writers wait for the device.
        """
        closed = 0
        for _ in range(min(looks, len(self._open))):
            if closed == count:
                break
            found = self._open.popleft()
            file = found()
            if file is None or not file.is_open:
                continue
            if not file.can_let_go:
                self._open.append(found)
                continue
            if file.is_dirty:
                file.sync_now()
            file.let_go()
            closed += 1
        return closed

    async def close(self) -> None:
        while self._syncing:
            await asyncio.wait(self._syncing)
