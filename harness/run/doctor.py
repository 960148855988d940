"""Looks at this machine as a run would: what each place and fault needs, and whether it is here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

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
class Finding:
    what: str
    is_well: bool
    said: str
    is_needed: bool = True
    """Whether the default run cannot do without it."""


def findings() -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Finding("python", sys.version_info >= (3, 11), version)
    root = os.geteuid() == 0
    yield Finding("root", root, "yes" if root else "no; --on netns wants it, --on local does not")
    for command, package in _NETNS_COMMANDS.items():
        found = _which(command)
        yield Finding(command, found is not None, found or f"apt-get install {package}")
    sshd = _which("sshd")
    yield Finding("sshd", sshd is not None, sshd or "apt-get install openssh-server")
    yield _netem()
    yield _clock_shim()
    java = shutil.which("java")
    yield Finding("java", java is not None, java or "only for --system kafka", is_needed=False)
    vagrant = shutil.which("vagrant")
    said = vagrant or "only for --on vagrant: apt-get install vagrant vagrant-libvirt"
    yield Finding("vagrant", vagrant is not None, said, is_needed=False)


def _which(command: str) -> str | None:
    path = os.pathsep.join([os.environ.get("PATH", ""), *_SBIN])
    return shutil.which(command, path=path)


def _clock_shim() -> Finding:
    from harness.cluster.clock_shim.build import why_no_shim

    reason = why_no_shim()
    said = reason or "compiles the library that shifts the clocks of brokers"
    return Finding("cc", reason is None, said, is_needed=False)


def _netem() -> Finding:
    """Tried in a network of its own, which goes when the command ends."""
    script = "ip link set lo up && tc qdisc add dev lo root netem delay 1ms"
    try:
        done = subprocess.run(
            ["unshare", "--net", "sh", "-c", script], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("netem", False, str(error), is_needed=False)
    if done.returncode == 0:
        return Finding("netem", True, "delay, loss, reordering by the kernel", is_needed=False)
    return Finding("netem", False, "not in this kernel; substitutes are used", is_needed=False)
