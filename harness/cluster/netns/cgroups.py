"""Groups of processes (cgroup v2) that can be frozen and killed as one, whatever they are doing."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from harness.cluster.errors import FaultMissedError
from harness.errors import EnvironmentFailure

_PATIENCE_S = 10.0
_POLL_S = 0.002


def cgroup_root() -> Path:
    """Where version 2 is mounted: by itself, or beside version 1."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        if after.startswith("cgroup2 "):
            return Path(before.split()[4])
    raise EnvironmentFailure(
        "no cgroup2 file system is mounted, which pauses and ends whole hosts; "
        "try: mount -t cgroup2 none /sys/fs/cgroup/unified"
    )


class Cgroup:
    """Each method blocks for a few milliseconds."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def below(self, name: str) -> Cgroup:
        return Cgroup(self.path / name)

    def make(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        if not (self.path / "cgroup.kill").exists():
            self.path.rmdir()
            raise EnvironmentFailure("this kernel has no cgroup.kill; it takes Linux 5.14 or newer")

    def freeze(self) -> None:
        self._write("cgroup.freeze", "1")
        self._until(lambda: self._tells("frozen 1"), "does not freeze")

    def thaw(self) -> None:
        self._write("cgroup.freeze", "0")

    def kill(self) -> None:
        """Returns when nobody in it lives any more."""
        with suppress(FileNotFoundError):
            self._write("cgroup.kill", "1")
            self._until(lambda: self._tells("populated 0"), "is not empty after a kill")
            # Who is killed while frozen leaves the group frozen, and the next life with it.
            self.thaw()

    def remove(self) -> None:
        """Kills whoever is in it; groups below it go as well."""
        self.kill()
        if not self.path.exists():
            return
        for below in sorted(self.path.rglob("*/"), reverse=True):
            _remove_empty(below)
        _remove_empty(self.path)

    def _tells(self, word: str) -> bool:
        return word in (self.path / "cgroup.events").read_text().splitlines()

    def _write(self, name: str, text: str) -> None:
        (self.path / name).write_text(text)

    def _until(self, condition: Callable[[], bool], otherwise: str) -> None:
        until_s = time.monotonic() + _PATIENCE_S
        while not condition():
            if time.monotonic() > until_s:
                raise FaultMissedError(f"the group of processes {self.path.name} {otherwise}")
            time.sleep(_POLL_S)


def _remove_empty(path: Path) -> None:
    until_s = time.monotonic() + _PATIENCE_S
    while True:
        try:
            path.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            # The last of its processes is only just on its way out.
            if time.monotonic() > until_s:
                raise
            time.sleep(_POLL_S)
        else:
            return
