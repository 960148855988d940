"""What the log directories will tell the next start of this life of the broker.

Each holds a note which says that a kill harms nothing: see broker/log/broker_life.py. A log that
has failed may have lost what the cache held, and nobody sees that after a restart. So the notes are
taken back when a log fails, and written again when all logs are back and were found complete.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from broker.log.log_directory import LogDirectory

_log = logging.getLogger(__name__)

_RETRY_S = 1.0


class LifeNotes:
    """`run` is one of the node's tasks."""

    def __init__(
        self,
        directories: Mapping[str, LogDirectory],
        boot_id: str,
        broker_epoch: Callable[[], int | None],
    ) -> None:
        self._directories = directories
        self._boot_id = boot_id
        self._broker_epoch = broker_epoch
        self._epoch: int | None = None  # of the life that is to be vouched for
        self.is_taken_back = False
        self._writing = asyncio.Lock()
        self._news = asyncio.Event()
        for each in directories.values():
            each.on_health = self._news.set

    @property
    def is_in_doubt(self) -> bool:
        return any(each.is_in_doubt for each in self._directories.values())

    async def write(self, broker_epoch: int) -> None:
        """Before the broker can be counted on. With a log in doubt, when it is back."""
        async with self._writing:
            self._epoch = broker_epoch
            if not self.is_in_doubt:
                await self._write()

    async def _write(self) -> None:
        for path, directory in self._directories.items():
            # Trust may be lost meanwhile: then this is not the broker's life any more.
            if directory.is_loaded and self._epoch is not None and self._is_current:
                self.is_taken_back = False
                try:
                    await directory.note_life(self._epoch, self._boot_id)
                except OSError as problem:
                    _log.warning("%s: a kill will count as a loss of power: %s", path, problem)

    @property
    def _is_current(self) -> bool:
        return self._epoch == self._broker_epoch()

    async def take_back(self) -> OSError | None:
        """One directory that says so at the next start is enough. Why none can, if so it is."""
        for directory in self._directories.values():
            directory.last_life = directory.last_life._replace(is_unharmed=False)
        async with self._writing:
            return await self._take_back()

    async def _take_back(self) -> OSError | None:
        problems: list[OSError] = []
        for directory in self._directories.values():
            try:
                await directory.lose_trust()
            except OSError as problem:
                problems.append(problem)
        self.is_taken_back = len(problems) < len(self._directories)
        return None if self.is_taken_back else problems[0]

    async def run(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            problem = None
            async with self._writing:
                if self.is_in_doubt and not self.is_taken_back:
                    problem = await self._take_back()
                elif not self.is_in_doubt and self.is_taken_back and self._is_current:
                    await self._write()
            if problem is not None:
                _log.warning("no directory can say that a log has failed: %s", problem)
                await asyncio.sleep(_RETRY_S)
                self._news.set()
