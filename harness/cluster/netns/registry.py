"""What runs have made on this machine, written down before it is made, so that it can be found.

    /run/log-trial/<owner>.<number>/     one place; nobody else's as long as its owner lives
    /run/log-trial/…/files               what else it has made, a path to a line
    <cgroups>/log-trial.<owner>.<number> its processes

An owner is `<pid>.<start time>.<pid namespace>.<boot>`: the same number means another process in
another pid namespace, such as a container's, and after another start of the machine.

Namespaces, links, mounts and loop devices end with the processes that use them, and those end with
the harness. What a kernel keeps is here, and `heal` removes it once the harness has died.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness.cluster.netns.cgroups import Cgroup, groups_at_the_top
from harness.cluster.netns.rootless import has_root, outer_uid
from harness.cluster.process_table import is_alive
from harness.errors import EnvironmentFailure

_NAME = "log-trial"
_FILES = "files"
_CLAIM = re.compile(r"(\d+)\.(\d+)\.(\d+)\.([0-9a-f]+)\.\d+")
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_BOOT_DIGITS = 8
_FROM_STATE_TO_START = 19
_PLACES_MAX = 1000


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
        with suppress(OSError):  # others keep book there, or it is gone already
            self.directory.parent.rmdir()


def claim() -> Claim:
    """For this process; a name tells whose it is, so that there is no moment without an owner."""
    owner = _owner()
    problem: OSError | None = None
    for number in range(1, _PLACES_MAX):
        directory = _registry() / f"{owner}.{number}"
        try:
            directory.mkdir(parents=True, mode=0o755)
        except (FileExistsError, FileNotFoundError) as error:
            # Not found: the last of the others has just removed the directory of them all.
            problem = error
            continue
        except OSError as error:
            raise EnvironmentFailure(f"cannot keep book of hosts: {error}") from None
        if directory.parent.stat().st_uid != os.geteuid():
            raise EnvironmentFailure(f"{directory.parent} is somebody else's; remove it")
        return Claim(directory)
    raise EnvironmentFailure(f"cannot keep book of hosts: {problem}")


def release_own() -> None:
    """Every place of this process, at once and without its help; its hosts are killed."""
    for name in sorted(set(_names())):
        if name.rpartition(".")[0] == _owner():
            Claim(_registry() / name).release()


def _owner() -> str:
    pid = os.getpid()
    return f"{pid}.{_start_of(pid)}.{_pid_namespace()}.{_boot()}"


@dataclass(frozen=True, slots=True)
class Healed:
    removed: list[str]
    left: list[str]
    """What nobody here can tell whether it is in use, and why."""


def heal(*, force: bool = False) -> Healed:
    """Removes what dead runs left on this machine. Living runs are let be.

    So are runs of other pid namespaces, whose processes cannot be seen from here: only `force`
    takes them for dead.
    """
    found = Healed([], [])
    for name in sorted(set(_names())):
        match = _CLAIM.fullmatch(name)
        if match is None:
            continue
        pid, start, namespace, boot = match.groups()
        is_ours = namespace == _pid_namespace() or boot != _boot()
        if is_ours and boot == _boot() and _lives(int(pid), start):
            continue
        if not is_ours and not force:
            found.left.append(f"hosts of process {pid} in pid namespace {namespace}")
            continue
        Claim(_registry() / name).release()
        gone = "which is gone" if is_ours else f"of pid namespace {namespace}"
        found.removed.append(f"hosts of process {pid}, {gone}")
    return found


def _pid_namespace() -> str:
    return str(Path("/proc/self/ns/pid").stat().st_ino)


def _boot() -> str:
    return _BOOT_ID.read_text().replace("-", "")[:_BOOT_DIGITS]


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
