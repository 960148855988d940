"""The machine's commands that hosts are made with, and the sentence for one that is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache

from harness.errors import EnvironmentFailure

_PACKAGES = {
    "ip": "iproute2",
    "mkfs.ext4": "e2fsprogs",
    "mount": "mount",
    "nft": "nftables",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "ssh-keygen": "openssh-client",
    "sshd": "openssh-server",
    "unshare": "util-linux",
}
_WITHIN_S = 60.0
_ALSO_HERE = "/usr/local/sbin:/usr/sbin:/sbin"


def check_machine() -> None:
    """Raises EnvironmentFailure with what to do if this machine cannot have hosts."""
    if os.geteuid() != 0:
        raise EnvironmentFailure(
            "hosts on this machine take root, or a user namespace to be root of; "
            "run it with sudo, or with --on local or --on sim"
        )
    missing = sorted({package for name, package in _PACKAGES.items() if _found(name) is None})
    if missing:
        raise EnvironmentFailure(
            "hosts on this machine take commands that it lacks; "
            f"try: apt-get install {' '.join(missing)}"
        )


def tool(name: str) -> str:
    """By its whole path: what is for administrators is on few users' PATH."""
    found = _found(name)
    if found is None:
        package = _PACKAGES.get(name, name)
        raise EnvironmentFailure(f"there is no {name} here: apt-get install {package}")
    return found


@cache
def _found(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:{_ALSO_HERE}")


def must(argv: Sequence[str], *, why: str, stdin: str = "") -> str:
    """Runs a tool to its end, in the namespaces of the calling thread; returns what it wrote."""
    command = [tool(argv[0]), *argv[1:]]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    try:
        stdout, stderr = process.communicate(stdin, _WITHIN_S)
    except subprocess.TimeoutExpired:
        # Nobody waits for its end: the kernel may not let go of one that waits for a device.
        process.kill()
        raise EnvironmentFailure(f"cannot {why}: {argv[0]} takes over {_WITHIN_S:g} s") from None
    if process.returncode != 0:
        raise EnvironmentFailure(f"cannot {why}: {argv[0]} says {stderr.strip()}")
    return stdout
