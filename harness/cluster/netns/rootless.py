"""Hosts without root: the whole harness moves into a user namespace, where it is root of its own.

There it may make namespaces, links, cuts and file systems in memory, but not use the machine's
devices and cgroups: no disk that loses what was not synced, none that fails or is slow, and no host
that stands still as a whole.
"""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NoReturn

from harness.cluster.netns.tools import tool
from harness.errors import EnvironmentFailure

_EVERYBODY = 0xFFFFFFFF
_ENTER = ("--user", "--map-root-user", "--map-auto", "--mount")


@cache
def is_rootless() -> bool:
    """Whether this process is in a user namespace: root there, and nobody elsewhere."""
    lines = Path("/proc/self/uid_map").read_text().split("\n")
    return [int(word) for word in lines[0].split()] != [0, 0, _EVERYBODY]


def has_root() -> bool:
    """The machine's own: it may use devices and cgroups."""
    return os.geteuid() == 0 and not is_rootless()


def outer_uid() -> int:
    """Who we are to the machine, whoever we are to ourselves."""
    if not is_rootless():
        return os.getuid()
    return int(Path("/proc/self/uid_map").read_text().split()[1])


def entering() -> list[str]:
    """The command that runs another as root of a user namespace."""
    return [tool("unshare"), *_ENTER]


def why_not_rootless() -> str | None:
    """Why this user cannot have a user namespace here, and what to do about it, or None."""
    tried = subprocess.run([*entering(), "true"], capture_output=True, text=True, check=False)
    return None if tried.returncode == 0 else _advice(tried.stderr.strip())


def become_root(argv: Sequence[str]) -> NoReturn:
    """Executes this very program again, with these arguments, as root of a user namespace.

    Raises EnvironmentFailure with what to do if this machine does not let users have one.
    """
    reason = why_not_rootless()
    if reason is not None:
        raise EnvironmentFailure(reason)
    sys.stdout.flush()
    sys.stderr.flush()
    command = [*entering(), sys.executable, *argv]
    os.execv(command[0], command)  # noqa: S606 - no shell is wanted


def _advice(complaint: str) -> str:
    user = pwd.getpwuid(os.getuid()).pw_name
    return (
        f"hosts on this machine take root, and a user namespace cannot be had: {complaint}; "
        f"use sudo, or: apt-get install uidmap, usermod --add-subuids 100000-165535"
        f" --add-subgids 100000-165535 {user}, and on Ubuntu"
        " sysctl kernel.apparmor_restrict_unprivileged_userns=0"
    )
