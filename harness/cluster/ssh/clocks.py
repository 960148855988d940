"""clock: sets the clocks of hosts that have one of their own, as virtual machines do.

What keeps such a clock right (timesyncd, chrony) is told to stop at the first fault and goes on
after the last. True time is what a host showed before the first fault, by this machine's clock.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from pathlib import PurePosixPath

from harness.cluster.capabilities import Clocks, Node
from harness.cluster.errors import FaultMissedError, NodeFailedError
from harness.cluster.ssh.remote_host import RemoteHost

_MISSED_S = 0.5
_HEALED_S = 0.05
_SAMPLES = 3
_HEAL_LOOKS = 3
_FLAG = "skewed"

_SHIFT = "import sys, time; time.clock_settime(time.CLOCK_REALTIME, time.time() + float({by_s!r}))"

# It sets the clock ten times a second, and ends when nobody wants it any more.
_SKEW = """
import os, sys, time
flag, rate = sys.argv[1], float(sys.argv[2])
wall, steady = time.time(), time.monotonic()
while os.path.exists(flag):
    time.clock_settime(time.CLOCK_REALTIME, wall + (time.monotonic() - steady) * rate)
    time.sleep(0.1)
"""

_BEGIN_SKEW = """
touch {flag}
{command} </dev/null >/dev/null 2>&1 &
echo $! >{flag}
sleep 0.3
kill -0 $!
"""
_END_SKEW = """
[ -e {flag} ] || exit 0
pid=$(cat {flag})
rm {flag}
for look in 1 2 3 4 5 6 7 8 9 10; do
  kill -0 $pid 2>/dev/null || exit 0
  sleep 0.1
done
kill -KILL $pid
"""

_KEEPERS = "systemd-timesyncd chrony chronyd ntp ntpsec"
_STOP_KEEPERS = f"""
for keeper in {_KEEPERS}; do
  if systemctl is-active --quiet $keeper 2>/dev/null; then
    systemctl stop $keeper && echo $keeper >>{{stopped}}
  fi
done
"""
_START_KEEPERS = """
if [ -e {stopped} ]; then
  sort -u {stopped} | while read -r keeper; do systemctl start $keeper; done
  rm -f {stopped}
fi
"""


class HostClocks:
    def __init__(self, hosts: Mapping[Node, RemoteHost]) -> None:
        """`hosts` may be filled later."""
        self._hosts = hosts
        self._touched: set[Node] = set()
        self._at_first_s: dict[Node, float] = {}

    async def open(self) -> None:
        """What keeps clocks right goes on, where a run that died had stopped it."""
        for host in self._hosts.values():
            if host.described.own_clock and host.described.has_root:
                await host.as_root(_START_KEEPERS.format(stopped=self._stopped(host)))

    async def jump(self, node: Node, by_s: float) -> None:
        host = await self._freed(node)
        before_s = await self.offset_s(node)
        await self._shift(host, by_s)
        moved_s = await self.offset_s(node) - before_s
        if abs(moved_s - by_s) > max(_MISSED_S, abs(by_s) / 10):
            raise FaultMissedError(
                f"the clock of {node} was to jump by {by_s:g} s and moved by {moved_s:.3f} s"
            )

    async def skew(self, node: Node, rate: float) -> None:
        host = await self._freed(node)
        await self._end_skew(host)
        if rate == 1.0:
            return
        flag = str(self._flag(host))
        command = shlex.join([host.described.python, "-c", _SKEW, flag, str(rate)])
        await host.as_root(_BEGIN_SKEW.format(flag=shlex.quote(flag), command=command))

    async def offset_s(self, node: Node) -> float:
        """To within half of the time that a question takes."""
        found_s = await self._ahead_of_us_s(node)
        return found_s - self._at_first_s.setdefault(node, found_s)

    async def heal(self) -> None:
        for node in sorted(self._touched):
            host = self._hosts[node]
            await self._end_skew(host)
            for _ in range(_HEAL_LOOKS):
                offset_s = await self.offset_s(node)
                if abs(offset_s) < _HEALED_S:
                    break
                await self._shift(host, -offset_s)
            else:
                raise FaultMissedError(f"the clock of {node} is still off by {offset_s:.3f} s")
            await host.as_root(_START_KEEPERS.format(stopped=self._stopped(host)))
            self._touched.discard(node)

    async def _ahead_of_us_s(self, node: Node) -> float:
        """By the quickest of a few answers."""
        shell = self._hosts[node].shell
        samples = []
        for _ in range(_SAMPLES):
            begun_s = time.time()
            answer = await shell.script("date +%s.%N")
            ended_s = time.time()
            if answer.exit_code != 0:
                raise NodeFailedError(f"{node} does not tell its time: {answer.stderr.strip()}")
            samples.append((ended_s - begun_s, float(answer.stdout) - (begun_s + ended_s) / 2))
        return min(samples)[1]

    async def _freed(self, node: Node) -> RemoteHost:
        host = self._hosts[node]
        if not host.described.own_clock:
            raise FaultMissedError(f"the clock of {node} is not its own to set")
        if node not in self._touched:
            await self.offset_s(node)
            self._touched.add(node)
            await host.as_root(_STOP_KEEPERS.format(stopped=self._stopped(host)))
        return host

    async def _shift(self, host: RemoteHost, by_s: float) -> None:
        script = _SHIFT.format(by_s=by_s)
        await host.as_root(shlex.join([host.described.python, "-c", script]))

    async def _end_skew(self, host: RemoteHost) -> None:
        flag = shlex.quote(str(self._flag(host)))
        await host.as_root(_END_SKEW.format(flag=flag))

    def _flag(self, host: RemoteHost) -> PurePosixPath:
        return host.home / _FLAG

    def _stopped(self, host: RemoteHost) -> str:
        # Beside the home, which the next run wipes: it has to know what to start again.
        return shlex.quote(str(host.home.parent / "stopped-keepers"))


def _check(clocks: HostClocks) -> Clocks:
    """Has mypy hold it to what nemeses expect."""
    return clocks
