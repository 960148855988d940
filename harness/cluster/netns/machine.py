"""One host: its namespaces, its disk, its processes; switched on and off.

A shell becomes the first process of the new namespaces, furnishes them, waits for its links and
turns into sshd, which as the first process also buries orphans. Kill it, and all of the host is
gone. It is killed by the kernel when this process dies.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness.cluster.capabilities import Node
from harness.cluster.errors import NodeFailedError
from harness.cluster.netns.addresses import Address
from harness.cluster.netns.cgroups import Cgroup
from harness.cluster.netns.identities import IN_HOST
from harness.cluster.netns.tools import must, tool

_PATIENCE_S = 10.0
_POLL_S = 0.002
_LAST_LINES = 8

# The warrant is signed first; whoever is an orphan then came too late for it, and ends by himself.
_LAUNCH = """
[ "$PPID" = {harness} ] || exit
echo $$ >{cgroup}/cgroup.procs || exit
exec {unshare} --net --mount --uts --ipc --pid --fork --kill-child --mount-proc \
  --propagation private /bin/sh -c {furnish}
"""

_FURNISH = """
set -e
PATH=$PATH:/usr/sbin:/sbin
hostname {node}
mkdir -p {state}/run
mount -n -t tmpfs -o size=64m,mode=755 run {state}/run
mkdir -p {state}/run/sshd {state}/run/lock {state}/run/host/home
cp {state}/hostkey {state}/authorized_keys {state}/sshd_config {state}/run/host
mount -n --bind {state}/passwd /etc/passwd
mount -n --bind {state}/shadow /etc/shadow
mount -n --bind {state}/../hosts /etc/hosts
{disk}
mount -n --move {state}/run /run
echo born
read -r go
set +e
[ -e /proc/sys/net/ipv4/tcp_rto_max_ms ] && echo 1000 >/proc/sys/net/ipv4/tcp_rto_max_ms
[ -e /proc/sys/net/ipv6/conf/all/disable_ipv6 ] && echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6
set -e
echo 0 >/proc/sys/net/ipv4/ip_forward
ip -batch - <<EOF
link set lo up
addr add {data}/24 dev eth0
addr add {management}/24 dev mg0
link set eth0 up
link set mg0 up
EOF
cd /
exec {sshd} -D -e -f {in_host}/sshd_config </dev/null >&2
"""

# A long commit interval leaves more for a loss of power to take; an error stops all writing.
_DISK = "mount -n -o loop,commit=60,errors=remount-ro,nodiscard {image} {data}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Blueprint:
    node: Node
    address: Address
    home: Path
    """Shared with this machine: what a host writes there, everybody sees and nothing breaks."""
    state: Path
    image: Path | None = None
    """Its disk, mounted below its home as `data`."""

    @property
    def data(self) -> Path:
        return self.home / "data"


def make_disk(image: Path, size_bytes: int) -> None:
    with image.open("wb") as file:
        file.truncate(size_bytes)
    must(
        [*"mkfs.ext4 -q -F -m 0 -J size=16 -E nodiscard,lazy_itable_init=1".split(), str(image)],
        why=f"make a disk of {size_bytes} bytes at {image}",
    )


class Machine:
    def __init__(self, blueprint: Blueprint, cgroup: Cgroup) -> None:
        self.blueprint = blueprint
        self.node = blueprint.node
        self.address = blueprint.address
        self.cgroup = cgroup
        self._popen: subprocess.Popen[str] | None = None
        self._pid: int | None = None

    @property
    def is_on(self) -> bool:
        return self._pid is not None

    @property
    def pid(self) -> int:
        """Of the first process of the host, as this machine numbers it."""
        if self._pid is None:
            raise NodeFailedError(f"{self.node} is off")
        return self._pid

    def launch(self) -> None:
        """Only on a thread that outlives the place: the host dies with the thread that began it."""
        self.cgroup.make()
        with self._log().open("ab") as log:
            self._popen = subprocess.Popen(
                [tool("setpriv"), "--pdeathsig", "KILL", "/bin/sh", "-c", self._launch_script()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )

    def wait_until_born(self) -> None:
        """Blocks until it has furnished itself and only lacks its links."""
        popen = self._launched()
        assert popen.stdout is not None
        if popen.stdout.readline() != "born\n":
            raise NodeFailedError(f"{self.node} did not come up; it said:\n{self.last_words()}")
        children = Path(f"/proc/{popen.pid}/task/{popen.pid}/children").read_text()
        self._pid = int(children.split()[0])

    def go(self) -> None:
        """Its links are there."""
        popen = self._launched()
        assert popen.stdin is not None
        assert popen.stdout is not None
        with suppress(BrokenPipeError):
            popen.stdin.write("go\n")
            popen.stdin.close()
        popen.stdout.close()

    def root(self) -> Path:
        """The host's file systems, as this machine can reach them."""
        return Path(f"/proc/{self.pid}/root")

    def data(self) -> Path:
        return self.root() / self.blueprint.data.relative_to("/")

    def end(self) -> None:
        """Blocks until its processes and its disk's device are gone."""
        popen, self._popen, self._pid = self._popen, None, None
        self.cgroup.kill()
        if popen is None:
            return
        popen.kill()
        popen.wait()
        # Had it only just been launched, it may have joined its group after the first kill.
        self.cgroup.kill()
        for stream in (popen.stdin, popen.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()
        until_s = time.monotonic() + _PATIENCE_S
        while any(self._devices()):
            if time.monotonic() > until_s:
                raise NodeFailedError(f"the disk of {self.node} is still in use after its end")
            time.sleep(_POLL_S)

    def last_words(self) -> str:
        lines = self._log().read_text(errors="replace").splitlines()
        return "\n".join(lines[-_LAST_LINES:])

    def _devices(self) -> Iterator[Path]:
        """The loop devices that hold its image; more than none as long as it is mounted."""
        for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
            with suppress(OSError):
                if backing.read_text().strip() == str(self.blueprint.image):
                    yield Path("/dev") / backing.parts[3]

    def _launched(self) -> subprocess.Popen[str]:
        if self._popen is None:
            raise NodeFailedError(f"{self.node} was not switched on")
        return self._popen

    def _log(self) -> Path:
        return self.blueprint.home / "host.log"

    def _launch_script(self) -> str:
        blueprint = self.blueprint
        quoted = {
            "image": shlex.quote(str(blueprint.image)),
            "data": shlex.quote(str(blueprint.data)),
        }
        furnish = _FURNISH.format(
            node=self.node,
            state=shlex.quote(str(blueprint.state)),
            disk=_DISK.format(**quoted) if blueprint.image else "",
            data=self.address.data,
            management=self.address.management,
            in_host=IN_HOST,
            sshd=tool("sshd"),
        )
        return _LAUNCH.format(
            harness=os.getpid(),
            cgroup=shlex.quote(str(self.cgroup.path)),
            unshare=tool("unshare"),
            furnish=shlex.quote(furnish),
        )
