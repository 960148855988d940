"""Groups of processes that can be frozen, killed and slowed as one, whatever they are doing.

Freezing and killing are version 2's. Where version 1 is mounted beside it, the limits on what a
group writes are `blkio`'s there, which has a tree of its own: a group then stands in both.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from harness.cluster.errors import FaultMissedError
from harness.cluster.netns.rootless import has_root
from harness.errors import EnvironmentFailure

_PATIENCE_S = 10.0
_POLL_S = 0.002
_PROCESSES = "cgroup.procs"


class Cgroup:
    """Named by its way from the root. Each method blocks, for some milliseconds at most."""

    def __init__(self, name: str) -> None:
        """Without root there are none: nobody is a member, and there is nothing to make or kill."""
        self.name = name
        self._is_possible = has_root()
        self._path = _root() / name if self._is_possible else Path(os.devnull)
        blkio = _blkio_root()
        self._blkio = None if blkio is None else blkio / name

    def below(self, name: str) -> Cgroup:
        return Cgroup(f"{self.name}/{name}")

    @property
    def doors(self) -> list[Path]:
        """Whoever writes his number into each of these files is a member, his children too."""
        if not self._is_possible:
            return []
        return [path / _PROCESSES for path in (self._path, self._blkio) if path is not None]

    def make(self) -> None:
        for door in self.doors:
            door.parent.mkdir(parents=True, exist_ok=True)
        if self._is_possible and not (self._path / "cgroup.kill").exists():
            raise EnvironmentFailure("this kernel has no cgroup.kill; it takes Linux 5.14 or newer")

    def freeze(self) -> None:
        self._write("cgroup.freeze", "1")
        self._until(lambda: self._tells("frozen 1"), "does not freeze")

    def thaw(self) -> None:
        self._write("cgroup.freeze", "0")

    def kill(self) -> None:
        """Returns when nobody in it lives any more."""
        try:
            self._write("cgroup.kill", "1")
            self._until(lambda: self._tells("populated 0"), "is not empty after a kill")
            # Who is killed while frozen leaves the group frozen, and the next life with it.
            self.thaw()
        except OSError as error:
            # It is not there, or somebody else removes it just now.
            if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ENODEV):
                raise

    def limit_writes(self, device: str, per_second: int | None) -> None:
        """To a device, given as major:minor. None lifts the limit."""
        if self._blkio is not None:
            limit = self._blkio / "blkio.throttle.write_iops_device"
            limit.write_text(f"{device} {per_second or 0}")
            return
        for above in (self._path.parent.parent, self._path.parent):
            (above / "cgroup.subtree_control").write_text("+io")
        self._write("io.max", f"{device} wiops={per_second or 'max'}")

    def remove(self) -> None:
        """Kills whoever is in it; groups below it go as well."""
        self.kill()
        for door in self.doors:
            _remove(door.parent)

    def _tells(self, word: str) -> bool:
        return word in (self._path / "cgroup.events").read_text().splitlines()

    def _write(self, name: str, text: str) -> None:
        (self._path / name).write_text(text)

    def _until(self, condition: Callable[[], bool], otherwise: str) -> None:
        until_s = time.monotonic() + _PATIENCE_S
        while not condition():
            if time.monotonic() > until_s:
                raise FaultMissedError(f"the group of processes {self.name} {otherwise}")
            time.sleep(_POLL_S)


def groups_at_the_top(beginning: str) -> Iterator[str]:
    """The names of those that begin so."""
    if not has_root():
        return
    with suppress(EnvironmentFailure):
        for root in filter(None, (_root(), _blkio_root())):
            yield from (path.name for path in root.glob(f"{beginning}*/"))


def why_no_limits() -> str | None:
    """Why a group's writes cannot be limited here; None if they can."""
    if _blkio_root() is not None or "io" in (_root() / "cgroup.controllers").read_text().split():
        return None
    return "this kernel cannot limit what a group of processes writes (neither io.max nor blkio)"


@cache
def _root() -> Path:
    """Where version 2 is mounted: by itself, or beside version 1."""
    for kind, _, path in _mounts():
        if kind == "cgroup2":
            return path
    raise EnvironmentFailure(
        "no cgroup2 file system is mounted, which pauses and ends whole hosts; "
        "try: mount -t cgroup2 none /sys/fs/cgroup/unified"
    )


@cache
def _blkio_root() -> Path | None:
    for kind, options, path in _mounts():
        if kind == "cgroup" and "blkio" in options:
            return path
    return None


def _mounts() -> Iterator[tuple[str, list[str], Path]]:
    """The kind of each file system, its options, and where it is."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        yield kind, options.split(","), Path(before.split()[4])


def _remove(path: Path) -> None:
    """With those below it. Somebody else may do the same at the same time."""
    try:
        below = [entry for entry in path.iterdir() if entry.is_dir()]
    except OSError:
        return
    for entry in below:
        _remove(entry)
    until_s = time.monotonic() + _PATIENCE_S
    while path.exists():
        with suppress(FileNotFoundError):
            try:
                path.rmdir()
            except OSError as error:
                # The last of its processes is only just on its way out.
                if error.errno != errno.EBUSY or time.monotonic() > until_s:
                    raise
                time.sleep(_POLL_S)
