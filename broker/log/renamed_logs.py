"""Logs that nobody serves any more: deleted ones, and strays that somebody may miss."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from contextlib import suppress
from random import Random

from broker.disk.interface import Disk

DELETE_SUFFIX = "-delete"
STRAY_SUFFIX = "-stray"
FUTURE_SUFFIX = "-future"  # a copy that never took the place of its log

_log = logging.getLogger(__name__)

_LONGEST_NAME = 255
_ENDING = re.compile(rf"\.[0-9a-f]{{32}}({DELETE_SUFFIX}|{STRAY_SUFFIX})$")
_UNCUT = _LONGEST_NAME - len(f".{0:032x}{DELETE_SUFFIX}")


def new_name(name: str, suffix: str, random: Random) -> str:
    ending = f".{random.getrandbits(128):032x}{suffix}"
    return name[: _LONGEST_NAME - len(ending)] + ending


def missing_from(names: Iterable[str], wanted: Iterable[str]) -> list[str]:
    """Which of the logs are not there, under their name or a new one. Of that one only so much
    counts as is left of the longest name."""
    there = {_ENDING.sub("", each)[:_UNCUT] for each in names}
    return [each for each in wanted if each[:_UNCUT] not in there]


class RenamedLogs:
    """Of one directory: their names are free, or will be, for others."""

    def __init__(self, disk: Disk, path: str, random: Random) -> None:
        self._disk = disk
        self._path = path
        self._random = random
        self._doomed: dict[str, None] = {}  # deleted, and yet to be renamed
        self._to_delete: dict[str, None] = {}

    @property
    def is_behind(self) -> bool:
        """Whether a deleted log still has its name."""
        return bool(self._doomed)

    @property
    def to_delete(self) -> list[str]:
        return list(self._to_delete)

    def found(self, names: Iterable[str]) -> None:
        """What an earlier life has left."""
        unwanted = (DELETE_SUFFIX, FUTURE_SUFFIX)
        self._to_delete.update((name, None) for name in names if name.endswith(unwanted))

    def doom(self, name: str) -> None:
        """It will be renamed; nobody may take it for a log before."""
        self._doomed[name] = None

    async def rename_doomed(self) -> None:
        for name in list(self._doomed):
            await self.free(name)

    async def free(self, name: str) -> None:
        """Renames it if it is doomed and there. Raises OSError, and then it can be tried again."""
        if name in self._doomed:
            with suppress(FileNotFoundError):
                self._to_delete[await self._rename(name, DELETE_SUFFIX)] = None
            self._doomed.pop(name, None)

    async def leave_stray(self, name: str) -> None:
        kept = await self._rename(name, STRAY_SUFFIX)
        _log.warning(
            "%s/%s belongs to no topic; it is kept as %s, delete it if nobody misses it",
            self._path,
            name,
            kept,
        )

    async def delete(self, name: str) -> None:
        await self._disk.delete_directory(name)
        self._to_delete.pop(name, None)

    async def _rename(self, name: str, suffix: str) -> str:
        renamed = new_name(name, suffix, self._random)
        await self._disk.rename(name, renamed)
        return renamed
