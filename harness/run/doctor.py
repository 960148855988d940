"""`harness doctor`: checks what each place and fault needs on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from harness.cluster.netns.rootless import entering as entering_rootless
from harness.cluster.netns.rootless import has_root, is_rootless, why_not_rootless
from harness.cluster.netns.tools import tool
from harness.errors import EnvironmentFailure

_WITHOUT_ROOT = "--on netns works, except for power, disk:slow, disk:eio and disk:read-only"
_NETNS_COMMANDS = {
    "ip": "iproute2",
    "nft": "nftables",
    "mkfs.ext4": "e2fsprogs",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "ssh-keygen": "openssh-client",
}
_SBIN = ("/usr/sbin", "/sbin")


@dataclass(frozen=True, slots=True)
class MachineCheck:
    what: str
    is_well: bool
    said: str
    is_needed: bool = True
    """Whether the default run needs it."""


def findings() -> Iterator[MachineCheck]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield MachineCheck("python", sys.version_info >= (3, 11), version)
    yield _root()
    for command, package in _NETNS_COMMANDS.items():
        found = _which(command)
        yield MachineCheck(command, found is not None, found or f"apt-get install {package}")
    sshd = _which("sshd")
    yield MachineCheck("sshd", sshd is not None, sshd or "apt-get install openssh-server")
    yield _netem()
    yield _clock_shim()
    java = shutil.which("java")
    yield MachineCheck("java", java is not None, java or "only for --system kafka", is_needed=False)
    vagrant = shutil.which("vagrant")
    said = vagrant or "only for --on vagrant: apt-get install vagrant vagrant-libvirt"
    yield MachineCheck("vagrant", vagrant is not None, said, is_needed=False)


def _root() -> MachineCheck:
    """Whether --on netns can create hosts: as root, or in a user namespace."""
    if has_root():
        return MachineCheck("root", True, "yes")
    if is_rootless() and os.geteuid() == 0:
        return MachineCheck("root", True, f"in a user namespace; {_WITHOUT_ROOT}")
    try:
        reason = why_not_rootless()
    except EnvironmentFailure as failure:
        reason = str(failure)
    if reason is None:
        return MachineCheck("root", True, f"no, but a user namespace is available; {_WITHOUT_ROOT}")
    return MachineCheck("root", False, f"no: {reason}; --on local and --on sim need no root")


def _which(command: str) -> str | None:
    path = os.pathsep.join([os.environ.get("PATH", ""), *_SBIN])
    return shutil.which(command, path=path)


def _clock_shim() -> MachineCheck:
    from harness.cluster.clock_shim.build import why_no_shim

    reason = why_no_shim()
    said = reason or "compiles the library that shifts the clocks of brokers"
    return MachineCheck("cc", reason is None, said, is_needed=False)


def _netem() -> MachineCheck:
    """Try netem in a temporary network namespace."""
    script = "ip link set lo up && tc qdisc add dev lo root netem delay 1ms"
    try:
        entering = [tool("unshare")] if os.geteuid() == 0 else entering_rootless()
        done = subprocess.run(
            [*entering, "--net", "sh", "-c", script], capture_output=True, text=True, timeout=10
        )
    except (OSError, EnvironmentFailure, subprocess.TimeoutExpired) as error:
        return MachineCheck("netem", False, str(error), is_needed=False)
    if done.returncode == 0:
        return MachineCheck("netem", True, "delay, loss, reordering by the kernel", is_needed=False)
    return MachineCheck("netem", False, "not in this kernel; substitutes are used", is_needed=False)
