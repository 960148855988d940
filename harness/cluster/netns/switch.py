"""The switch between hosts, in a network namespace of its own.

Two bridges: `data`, on which the hosts speak to each other, and `mgmt`, on which they speak to
nobody but this process. Every cut is made here, in the table that each frame between two hosts has
to pass, so no host can tell a cut from a broken cable. The namespace hangs on a descriptor of this
process alone, and nothing leads from it to the rest of the machine.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from harness.cluster.netns.addresses import MANAGEMENT_OF_SWITCH, Address
from harness.cluster.netns.namespaces import ThreadsInside, made_network
from harness.cluster.netns.tools import must

_THREADS = 8

_BRIDGES = f"""
link set lo up
link add data type bridge forward_delay 0 mcast_snooping 0
link add mgmt type bridge forward_delay 0 mcast_snooping 0
addr add {MANAGEMENT_OF_SWITCH}/24 dev mgmt
link set data up
link set mgmt up
"""

_TABLE = """
table bridge links {
  set cut {
    type ipv4_addr . ipv4_addr
  }
  chain forward {
    type filter hook forward priority 0; policy accept;
    ip saddr . ip daddr @cut counter drop
  }
}
"""

_Result = TypeVar("_Result")


class Switch:
    """Made by a thread, as every other of its calls that blocks."""

    def __init__(self) -> None:
        self._threads = ThreadsInside(made_network(), name="switch", count=_THREADS)
        try:
            self._threads.wait_for(_furnish)
        except BaseException:
            self.close()
            raise

    async def plug_in(self, ports: Iterable[tuple[Address, int]]) -> None:
        """Gives hosts, each by a process in it, their two links: eth0 to `data`, mg0 to `mgmt`."""
        commands = "".join(_plugs(address, pid) for address, pid in ports)
        await self._ip(commands, why="link a host to the switch")

    async def unplug(self, address: Address) -> None:
        """From one moment to the next nothing that the host sends arrives."""
        await self._ip(
            f"link del {address.data_port}\nlink del {address.management_port}\n",
            why="unplug a host",
        )

    async def _ip(self, commands: str, *, why: str) -> None:
        await self.call(lambda: must(["ip", "-batch", "-"], why=why, stdin=commands))

    async def nft(self, commands: str, *, why: str) -> str:
        """All of the commands, or none: it is one transaction."""
        return await self.call(lambda: must(["nft", "-f", "-"], why=why, stdin=commands))

    async def call(self, act: Callable[[], _Result]) -> _Result:
        return await self._threads.call(act)

    def dial(self, address: str, port: int, *, within_s: float) -> socket.socket:
        """A connection to a host's management address. Blocks."""
        return self._threads.wait_for(lambda: socket.create_connection((address, port), within_s))

    def close(self) -> None:
        self._threads.close(wait=True)


def _furnish() -> None:
    # What this machine's firewall thinks of forwarded packets is no business of these frames.
    firewall = Path("/proc/sys/net/bridge/bridge-nf-call-iptables")
    if firewall.exists():
        firewall.write_text("0")
    must(["ip", "-batch", "-"], why="make a switch", stdin=_BRIDGES)
    must(["nft", "-f", "-"], why="make the table of cuts", stdin=_TABLE)


def _plugs(address: Address, pid: int) -> str:
    """MACs are fixed: with a new one, a host that comes back would be unknown for seconds."""
    data, management = address.data_port, address.management_port
    return (
        f"link add {data} type veth peer name eth0 address {address.data_mac} netns {pid}\n"
        f"link add {management} type veth peer name mg0 address {address.management_mac}"
        f" netns {pid}\n"
        f"link set {data} master data up\n"
        f"link set {management} master mgmt up\n"
        f"link set {management} type bridge_slave isolated on\n"
    )
