"""What runs have made on this machine, written down before it is made, so that it can be found.

    /run/log-trial/<pid>.<start time>.<number>/     one place; nobody else's as long as <pid> lives
    /run/log-trial/…/files                          what else it has made, a path to a line
    <cgroups>/log-trial.<pid>.<start time>.<number> its processes

Namespaces, links, mounts and loop devices end with the processes that use them, and those end with
the harness. What a kernel keeps is here, and `heal` removes it once the harness has died.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

from harness.cluster.netns.cgroups import Cgroup, groups_at_the_top
from harness.cluster.netns.rootless import has_root, outer_uid
from harness.cluster.process_table import is_alive
from harness.errors import EnvironmentFailure

_NAME = "log-trial"
_FILES = "files"
_CLAIM = re.compile(r"(\d+)\.(\d+)\.\d+")
_FROM_STATE_TO_START = 19


class Claim:
    """One place's entry. What it makes goes below `directory` or is announced by `will_make`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @property
    def cgroup(self) -> Cgroup:
        return Cgroup(f"{_NAME}.{self.directory.name}")

    def will_make(self, file: Path) -> None:
        with (self.directory / _FILES).open("a") as files:
            files.write(f"{file}\n")

    def release(self) -> None:
        """Removes all of it. Processes that still belong to it are killed."""
        self.cgroup.remove()
        with suppress(FileNotFoundError):
            for line in (self.directory / _FILES).read_text().splitlines():
                Path(line).unlink(missing_ok=True)
        shutil.rmtree(self.directory, ignore_errors=True)


def claim() -> Claim:
    """For this process; a name tells whose it is, so that there is no moment without an owner."""
    owner = f"{os.getpid()}.{_start_of(os.getpid())}"
    for number in count(1):
        directory = _registry() / f"{owner}.{number}"
        try:
            directory.mkdir(parents=True, mode=0o755)
        except FileExistsError:
            continue
        except OSError as error:
            raise EnvironmentFailure(f"cannot keep book of hosts: {error}") from None
        if directory.parent.stat().st_uid != os.geteuid():
            raise EnvironmentFailure(f"{directory.parent} is somebody else's; remove it")
        return Claim(directory)
    raise AssertionError("numbers do not end")


def heal() -> list[str]:
    """Removes what dead runs left on this machine; returns what it was. Living runs are let be."""
    healed = []
    for name in sorted(set(_names())):
        match = _CLAIM.fullmatch(name)
        if match is None or _lives(int(match[1]), match[2]):
            continue
        Claim(_registry() / name).release()
        healed.append(f"hosts of process {match[1]}, which is gone")
    return healed


def _names() -> Iterator[str]:
    with suppress(FileNotFoundError):
        yield from (entry.name for entry in _registry().iterdir())
    for group in groups_at_the_top(f"{_NAME}."):
        yield group.removeprefix(f"{_NAME}.")


def _registry() -> Path:
    if has_root():
        return Path("/run") / _NAME
    mine = os.environ.get("XDG_RUNTIME_DIR")
    return Path(mine) / _NAME if mine else Path(f"/tmp/{_NAME}.{outer_uid()}")  # noqa: S108


def _lives(pid: int, start: str) -> bool:
    try:
        return is_alive(pid) and _start_of(pid) == start
    except (FileNotFoundError, ProcessLookupError):
        return False


def _start_of(pid: int) -> str:
    """In ticks since the machine's start: with it, a number that is used again is told apart."""
    stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    return stat.rpartition(")")[2].split()[_FROM_STATE_TO_START]
