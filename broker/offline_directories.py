"""Which log directories the controller is told to have failed."""

from __future__ import annotations

from collections.abc import Mapping

from broker.log.log_directory import LogDirectory


class OfflineDirectories:
    """A directory that was told to be offline stays so until all that came back in it is judged.

    Between the moment in which a log is back and the one in which its broker knows that the log
    has lost its end, the controller must not count on it.
    """

    def __init__(self, directories: Mapping[str, LogDirectory], ids: Mapping[str, bytes]) -> None:
        """`ids` by the paths: of a directory that never could be read nobody knows the id."""
        self._directories = directories
        self._ids = ids
        self._told: set[str] = set()

    def ids(self) -> list[bytes]:
        """What the next heartbeat says."""
        self._told |= self._offline()
        return sorted(self._ids[path] for path in self._told)

    def has_news(self) -> bool:
        return self._offline() != self._told

    def judged(self) -> bool:
        """Whatever is back by now may be counted on, or the broker has said otherwise.

        Whether there is any that the controller was told to be offline.
        """
        back = self._told - self._offline()
        self._told -= back
        return bool(back)

    def _offline(self) -> set[str]:
        return {path for path in self._ids if self._directories[path].is_offline}
