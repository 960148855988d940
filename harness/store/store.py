"""The store: a directory for each run, in Jepsen's layout, with links to the latest.

    store/queue partition/20261116T001530.123Z/     one run
    store/queue partition/latest                    the last of its kind
    store/latest, store/current                     the last of all; the one under way

Links are relative, so that the tree can be moved.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from harness.errors import EnvironmentFailure, UsageFailure

_TIME = re.compile(r"\d{8}T\d{6}\.\d{3}Z(-\d+)?")
RUNNING = ".running"
"""A file of a run that its process holds a lock on until the run has ended."""

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


@contextmanager
def running_out_of_room(directory: Path) -> Iterator[None]:
    """A run whose store cannot take any more ends with a sentence; what is there is kept."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        raise EnvironmentFailure(
            f"{directory}: {os.strerror(error.errno)}; what was recorded until then is kept. Make "
            "room, or name another directory with --store; harness analyze judges what is there"
        ) from error


def is_under_way(directory: Path) -> bool:
    """Whether a living process works on this run. A run that was killed is not under way."""
    try:
        descriptor = os.open(directory / RUNNING, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


class Store:
    def __init__(self, root: Path) -> None:
        self.root = root
        self._running: dict[Path, int] = {}

    def new_run(self, name: str, at: datetime) -> Path:
        """Its directory; `current` points there, and this process holds a lock in it."""
        stamp = at.astimezone(UTC).strftime("%Y%m%dT%H%M%S.%f")[:-3] + "Z"
        for attempt in range(100):
            directory = self.root / name / (f"{stamp}-{attempt}" if attempt else stamp)
            try:
                directory.mkdir(parents=True)
            except FileExistsError:
                continue
            except OSError as error:
                raise EnvironmentFailure(
                    f"{error.filename}: {error.strerror}; --store names another directory"
                ) from None
            with running_out_of_room(directory):
                self._running[directory] = _locked(directory / RUNNING)
                _link(self.root / "current", directory)
            return directory
        raise EnvironmentFailure(f"{self.root / name} has a hundred runs of {stamp}")

    def end_run(self, directory: Path) -> None:
        """It is the latest now."""
        (directory / RUNNING).unlink(missing_ok=True)
        descriptor = self._running.pop(directory, None)
        if descriptor is not None:
            os.close(descriptor)
        _link(self.root / "latest", directory)
        _link(directory.parent / "latest", directory)
        with suppress(FileNotFoundError):
            if (self.root / "current").resolve() == directory.resolve():
                (self.root / "current").unlink()

    def mend_latest(self, place: Path) -> None:
        """Point `latest` of the store, or of a kind, to an existing run if its run was removed."""
        link = place / "latest"
        if not link.is_symlink() or link.exists():
            return
        own = [each for each in self.runs() if place in (self.root, each.parent)]
        ended = [each for each in own if not is_under_way(each)]
        if ended:
            _link(link, ended[-1])
        else:
            link.unlink()

    def runs(self) -> Iterator[Path]:
        """The newest last."""
        found = [
            each
            for kind in self.root.glob("*")
            if kind.is_dir() and not kind.is_symlink()
            for each in kind.glob("*")
            if _TIME.fullmatch(each.name) and each.is_dir() and not each.is_symlink()
        ]
        return iter(sorted(found, key=lambda each: (each.name, each.parent.name)))

    def find(self, said: str) -> Path:
        """A path, `latest`, `current`, or -1 for the last, -2 for the one before."""
        if re.fullmatch(r"-\d+", said):
            runs = list(self.runs())
            if not 0 < -int(said) <= len(runs):
                raise UsageFailure(f"there is no run {said}: {self.root} has {len(runs)}")
            return runs[int(said)]
        for path in (Path(said), self.root / said):
            if (path / "plan.json").is_file() or (path / "history").is_dir():
                return path.resolve()
        if said == "latest" and (self.root / "current").is_dir():
            raise UsageFailure(
                "latest is no run, because none in this store has ended; current is the one that "
                "was begun last"
            )
        raise UsageFailure(
            f"{said} is no run; give its directory, or latest, or -1; harness ls lists them"
        )


def _locked(path: Path) -> int:
    """The kernel frees the lock when the process ends, however it ends."""
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def _link(link: Path, target: Path) -> None:
    """In one step, so that nobody finds none."""
    fresh = link.with_name(f".{link.name}.{os.getpid()}")
    with suppress(FileNotFoundError):
        fresh.unlink()
    fresh.symlink_to(os.path.relpath(target, link.parent), target_is_directory=True)
    fresh.replace(link)
