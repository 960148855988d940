"""One host: its namespaces, its disk, its processes; switched on and off.

A shell becomes the first process of the new namespaces, furnishes them, waits for its links and
turns into sshd, which as the first process also buries orphans. Kill it, and all of the host is
gone. It is killed by the kernel when this process dies.
"""

from __future__ import annotations

import os
import select
import shlex
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness.cluster.capabilities import Node
from harness.cluster.errors import NodeFailedError
from harness.cluster.netns.addresses import Address
from harness.cluster.netns.cgroups import Cgroup
from harness.cluster.netns.identities import IN_HOST
from harness.cluster.netns.loop_disk import LoopDisk
from harness.cluster.netns.memory_disk import MemoryDisk
from harness.cluster.netns.tools import tool
from harness.cluster.process_table import is_alive

_LAST_LINES = 8
_BORN = b"born\n"
_BORN_WITHIN_S = 60.0
"""Also on a machine that has much else to do: it is some mounts."""
_PATIENCE_S = 10.0
_POLL_S = 0.002

# The warrant is signed first; whoever is an orphan then came too late for it, and ends by himself.
_LAUNCH = """
[ "$PPID" = {harness} ] || exit
{join}
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
# Hosts share this machine's kernel, but a broker tells a loss of power from a kill by the boot id.
cat /proc/sys/kernel/random/uuid >{state}/run/host/boot_id
mount -n --bind {state}/run/host/boot_id /proc/sys/kernel/random/boot_id
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Blueprint:
    node: Node
    address: Address
    home: Path
    """Shared with this machine: what a host writes there, everybody sees and nothing breaks."""
    state: Path
    disk: LoopDisk | MemoryDisk | None = None
    """Mounted below its home as `data`."""

    @property
    def data(self) -> Path:
        return self.home / "data"


class Machine:
    def __init__(self, blueprint: Blueprint, cgroup: Cgroup) -> None:
        self.blueprint = blueprint
        self.node = blueprint.node
        self.address = blueprint.address
        self.cgroup = cgroup
        self._popen: subprocess.Popen[bytes] | None = None
        self._pid: int | None = None

    @property
    def is_on(self) -> bool:
        return self._pid is not None

    @property
    def has_ended(self) -> bool:
        """By itself, so that there is no use in waiting for it."""
        return self._popen is None or self._popen.poll() is not None

    @property
    def pid(self) -> int:
        """Of the first process of the host, as this machine numbers it."""
        if self._pid is None:
            raise NodeFailedError(f"{self.node} is off")
        return self._pid

    def launch(self) -> None:
        """Only on a thread that outlives the place: the host dies with the thread that began it.

        Blocks, for as long as the machine takes to start a program.
        """
        self.cgroup.make()
        with self._log().open("ab") as log:
            self._popen = subprocess.Popen(
                [tool("setpriv"), "--pdeathsig", "KILL", "/bin/sh", "-c", self._launch_script()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                # Without buffers: their locks would have one thread wait for what another reads.
                bufsize=0,
                start_new_session=True,
            )

    def wait_until_born(self) -> None:
        """Blocks until it has furnished itself and only lacks its links."""
        popen = self._launched()
        assert popen.stdout is not None
        is_heard, _, _ = select.select([popen.stdout], [], [], _BORN_WITHIN_S)
        if not is_heard or popen.stdout.read(len(_BORN)) != _BORN:
            raise NodeFailedError(f"{self.node} did not come up; it said:\n{self.last_words()}")
        children = Path(f"/proc/{popen.pid}/task/{popen.pid}/children").read_text()
        self._pid = int(children.split()[0])

    def go(self) -> None:
        """Its links are there."""
        popen = self._launched()
        assert popen.stdin is not None
        assert popen.stdout is not None
        with suppress(BrokenPipeError):
            popen.stdin.write(b"go\n")
            popen.stdin.close()
        popen.stdout.close()

    def root(self) -> Path:
        """The host's file systems, as this machine can reach them."""
        return Path(f"/proc/{self.pid}/root")

    def data(self) -> Path:
        return self.root() / self.blueprint.data.relative_to("/")

    def end(self) -> None:
        """Blocks until its processes and its disk's device are gone."""
        popen, self._popen = self._popen, None
        pid, self._pid = self._pid, None
        self.cgroup.kill()
        if popen is None:
            return
        popen.kill()
        with suppress(subprocess.TimeoutExpired):  # the group tells below whether anybody lives
            popen.wait(_PATIENCE_S)
        # Had it only just been launched, it may have joined its group after the first kill.
        self.cgroup.kill()
        # Where there are no groups, the kernel kills the host after its parent, a moment later.
        if pid is not None:
            _wait_until_gone(pid)
        for stream in (popen.stdin, popen.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()
        if self.blueprint.disk is not None:
            self.blueprint.disk.wait_until_free()

    def last_words(self) -> str:
        lines = self._log().read_text(errors="replace").splitlines()
        return "\n".join(lines[-_LAST_LINES:])

    def _launched(self) -> subprocess.Popen[bytes]:
        if self._popen is None:
            raise NodeFailedError(f"{self.node} was not switched on")
        return self._popen

    def _log(self) -> Path:
        return self.blueprint.home / "host.log"

    def _launch_script(self) -> str:
        blueprint = self.blueprint
        furnish = _FURNISH.format(
            node=self.node,
            state=shlex.quote(str(blueprint.state)),
            disk=blueprint.disk.mount_command(blueprint.data) if blueprint.disk else "",
            data=self.address.data,
            management=self.address.management,
            in_host=IN_HOST,
            sshd=tool("sshd"),
        )
        return _LAUNCH.format(
            harness=os.getpid(),
            join="\n".join(f"echo $$ >{door} || exit" for door in self.cgroup.doors),
            unshare=tool("unshare"),
            furnish=shlex.quote(furnish),
        )


def _wait_until_gone(pid: int) -> None:
    until_s = time.monotonic() + _PATIENCE_S
    while is_alive(pid):
        if time.monotonic() > until_s:
            raise NodeFailedError(f"process {pid}, the first of a host, does not end")
        time.sleep(_POLL_S)
