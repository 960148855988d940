"""One host of the inventory once it is reached: its directories, its shell, and what takes root."""

from __future__ import annotations

import asyncio
import shlex
import socket
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from harness.cluster.base import Host
from harness.cluster.capabilities import Node
from harness.cluster.errors import NodeFailedError
from harness.cluster.inventory import InventoryHost
from harness.cluster.remote.shell import Answer, Shell
from harness.cluster.remote.spawned import SpawnedProcess
from harness.errors import EnvironmentFailure

_NOT_APART = 42
_NOBODY_CAN = PurePosixPath("/nonexistent")

# A dead run's processes still stand in the home that they were started in; nobody else ever did.
_SETTLE = """
set -e
home={home}
data={data}
if {is_own}; then
  [ -d "$data" ] || {{ echo "there is no $data" >&2; exit 1; }}
  [ "$(df --output=target "$data" | tail -n 1)" != / ] || exit {not_apart}
fi
mkdir -p "$home" "$data"
home=$(cd "$home" && pwd -P)/run
data=$(cd "$data" && pwd -P)/log-trial
find /proc -mindepth 2 -maxdepth 2 -name cwd -printf '%h %l\\n' 2>/dev/null |
  while read -r process directory; do
    [ "$directory" != "$home" ] || kill -KILL "${{process#/proc/}}" 2>/dev/null || :
  done || :
rm -rf "$home" "$data" 2>/dev/null || {{ sleep 0.5; rm -rf "$home" "$data"; }}
mkdir -p "$home" "$data"
echo "$home"
echo "$data"
"""


@dataclass(slots=True)
class RemoteHost:
    described: InventoryHost
    shell: Shell
    ip: str
    home: PurePosixPath = _NOBODY_CAN
    data: PurePosixPath = _NOBODY_CAN
    firewall: str = ""
    """The command that makes its rules; empty if there is none, or nobody may."""
    processes: list[SpawnedProcess] = field(default_factory=list)

    @property
    def node(self) -> Node:
        return self.described.node

    @property
    def known(self) -> Host:
        """As systems see it."""
        return Host(node=self.node, address=self.described.address, home=self.home, data=self.data)

    async def settle(self) -> None:
        """Ends what a run that died has left, and makes room for this one."""
        described = self.described
        answer = await self.shell.script(
            _SETTLE.format(
                home=_with_tilde(described.home),
                data=_with_tilde(described.data_dir or f"{described.home}/data"),
                is_own="true" if described.data_dir else "false",
                not_apart=_NOT_APART,
            )
        )
        if answer.exit_code == _NOT_APART:
            raise EnvironmentFailure(
                f"{self.node} keeps data_dir {described.data_dir} on its root file system, which "
                "a fault of the disk would fill; mount another one there, or take data_dir out of "
                "the inventory"
            )
        if answer.exit_code != 0:
            raise EnvironmentFailure(
                f"{self.node} has no place for a run below {described.home}: "
                f"{answer.stderr.strip() or answer.stdout.strip()}"
            )
        home, data = map(PurePosixPath, answer.stdout.splitlines())
        self.home, self.data = home, data
        self.shell.home = home
        if described.has_root:
            self.firewall = await self._found_firewall()

    async def _found_firewall(self) -> str:
        looking = "command -v nft || command -v iptables || echo none"
        found = PurePosixPath((await self.as_root(looking)).stdout.strip()).name
        if found == "none":
            raise EnvironmentFailure(
                f"{self.node} has neither nft nor iptables, which cut its links; try there: "
                "apt-get install nftables, or sudo = false in the inventory to do without"
            )
        return found

    async def as_root(self, script: str, *, within_s: float = 30) -> Answer:
        """Raises NodeFailedError unless all of the script went well."""
        script = f"PATH=$PATH:/usr/sbin:/sbin\n{script}"
        command = f"{self._sudo()} sh -ec {shlex.quote(script)}".strip()
        answer = await self.shell.script(command, within_s=within_s)
        if answer.exit_code != 0:
            raise NodeFailedError(
                f"{self.node} could not do as root what was asked of it: "
                f"{answer.stderr.strip() or f'it ended with {answer.exit_code}'}"
            )
        return answer

    def _sudo(self) -> str:
        return "" if self.described.user == "root" else "sudo -n"


async def address_of(described: InventoryHost) -> str:
    """As numbers, for firewalls."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            described.address, None, family=socket.AF_INET, type=socket.SOCK_STREAM
        )
    except OSError:
        raise EnvironmentFailure(
            f"{described.address} of {described.node} is no address and no name of one (IPv4); "
            "see the inventory"
        ) from None
    return str(found[0][4][0])


def _with_tilde(path: str) -> str:
    """Quoted for a shell, but for the tilde."""
    if path.startswith("~/"):
        return f'"$HOME"/{shlex.quote(path[2:])}'
    return shlex.quote(path)
