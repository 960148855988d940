"""network: cuts links in the firewalls of the hosts, and asks by datagrams what is left of them.

A link between nodes is cut where it ends. One to the clients is cut where it begins, because the
firewall of the clients' machine is not ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import permutations

from harness.cluster.capabilities import Link, Network, Node, PacketFault
from harness.cluster.errors import FaultMissedError
from harness.cluster.inventory import CLIENTS
from harness.cluster.ssh.firewall import Cuts, no_rules, rules_left, set_rules
from harness.cluster.ssh.reach import Reach
from harness.cluster.ssh.remote_host import RemoteHost

_HEAL_LOOKS = 10


class FirewallNetwork:
    def __init__(self, hosts: Mapping[Node, RemoteHost]) -> None:
        """`hosts` may be filled later."""
        self._hosts = hosts
        self._cut: set[Link] = set()
        self._reach: Reach | None = None

    async def open(self, reach: Reach) -> None:
        """Ends what a run that died has left in force."""
        self._reach = reach
        await self._without_rules()

    async def close(self) -> None:
        """Like a heal, but nobody is asked for a proof: the hosts may be half up, or half gone."""
        self._cut.clear()
        await self._without_rules()
        if self._reach is not None:
            self._reach.close()
            self._reach = None

    @property
    def hosts(self) -> Sequence[Node]:
        return (*self._hosts, CLIENTS)

    def why_not(self, fault: PacketFault) -> str | None:
        return "a host's firewall lets packets through or drops them, and does nothing else to them"

    async def cut(self, links: Sequence[Link]) -> None:
        for source, target in links:
            if source == target or not {source, target} <= set(self.hosts):
                raise ValueError(f"there is no link from {source} to {target} here")
        if not links:
            return
        reach = await self._opened()
        self._cut.update(links)
        concerned = {source if target == CLIENTS else target for source, target in links}
        await asyncio.gather(*(self._set_rules(self._hosts[node], reach) for node in concerned))
        for source, target in sorted(set(links) & await reach.heard()):
            raise FaultMissedError(f"{source} still reaches {target}")

    async def shape(self, links: Sequence[Link], fault: PacketFault) -> None:
        raise FaultMissedError(self.why_not(fault) or "")

    async def heal(self) -> None:
        self._cut.clear()
        await self._without_rules()
        if not self._hosts:
            return
        reach = await self._opened()
        missing = set(permutations(self.hosts, 2))
        for _ in range(_HEAL_LOOKS):
            missing -= await reach.heard()
            if not missing:
                return
        for source, target in sorted(missing):
            raise FaultMissedError(f"{source} does not reach {target} although nothing is cut")

    async def reachable(self) -> frozenset[Link]:
        return await (await self._opened()).heard()

    async def _opened(self) -> Reach:
        if self._reach is None:
            raise RuntimeError("the place is not up")
        await self._reach.open()
        return self._reach

    async def _set_rules(self, host: RemoteHost, reach: Reach) -> None:
        def address(other: Node) -> str:
            if other == CLIENTS:
                return reach.clients_as_seen_by(host.node)
            return self._hosts[other].ip

        cuts = Cuts(
            hears_not={address(one) for one, other in self._cut if other == host.node},
            tells_not={
                address(other) for one, other in self._cut if one == host.node and other == CLIENTS
            },
            ssh_port=host.described.port,
        )
        await host.as_root(set_rules(host.firewall, cuts))

    async def _without_rules(self) -> None:
        hosts = [host for host in self._hosts.values() if host.firewall]

        async def heal(host: RemoteHost) -> None:
            script = no_rules(host.firewall) + rules_left(host.firewall)
            left = (await host.as_root(script)).stdout.strip()
            if left:
                raise FaultMissedError(f"{host.node} keeps rules of ours in force: {left}")

        for result in await asyncio.gather(*map(heal, hosts), return_exceptions=True):
            if isinstance(result, BaseException):
                raise result


def _check(network: FirewallNetwork) -> Network:
    """Has mypy hold it to what nemeses expect."""
    return network
