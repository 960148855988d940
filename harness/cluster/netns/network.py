"""network: cuts links between hosts at their switch, and asks by datagrams what is left of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from harness.cluster.capabilities import Link, Network, Node, PacketFault
from harness.cluster.errors import FaultMissedError
from harness.cluster.netns.fleet import Fleet
from harness.cluster.netns.reach import heard

_ROUNDS = 5
_ROUND_S = 0.04
_AT_LAST_S = 0.05
_HEAL_ROUNDS = 50


class HostNetwork:
    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    @property
    def hosts(self) -> Sequence[Node]:
        return tuple(self._fleet.hosts)

    def why_not(self, fault: PacketFault) -> str | None:
        return "packets on these links cannot be shaped yet"

    async def cut(self, links: Sequence[Link]) -> None:
        wanted = self._known(links)
        if not wanted:
            return
        pairs = ", ".join(f"{source} . {target}" for source, target in map(self._pair, wanted))
        await self._fleet.switch.nft(
            f"add element bridge links cut {{ {pairs} }}\n", why="cut links at the switch"
        )
        for source, target in sorted(await self._heard(wanted)):
            raise FaultMissedError(f"{source} still reaches {target}")

    async def shape(self, links: Sequence[Link], fault: PacketFault) -> None:
        self._known(links)
        raise FaultMissedError(self.why_not(fault) or "")

    async def heal(self) -> None:
        if not self._fleet.hosts:
            return
        await self._fleet.switch.nft("flush set bridge links cut\n", why="heal links at the switch")
        wanted = frozenset(self._pairs_of_the_living())
        for source, target in sorted(wanted - await self._heard(wanted, rounds=_HEAL_ROUNDS)):
            raise FaultMissedError(f"{source} does not reach {target} although nothing is cut")

    async def reachable(self) -> frozenset[Link]:
        return await self._heard(frozenset(self._pairs_of_the_living()))

    def _pairs_of_the_living(self) -> list[Link]:
        return list(permutations(self._fleet.mailboxes(), 2))

    async def _heard(self, links: frozenset[Link], *, rounds: int = _ROUNDS) -> frozenset[Link]:
        mailboxes = self._fleet.mailboxes()
        return await self._fleet.call(
            lambda: heard(mailboxes, links, rounds=rounds, every_s=_ROUND_S, at_last_s=_AT_LAST_S)
        )

    def _known(self, links: Sequence[Link]) -> frozenset[Link]:
        for source, target in links:
            self._fleet.host(source)
            self._fleet.host(target)
            if source == target:
                raise ValueError(f"no link leads from {source} to itself")
        return frozenset(links)

    def _pair(self, link: Link) -> tuple[str, str]:
        source, target = link
        hosts = self._fleet.hosts
        return hosts[source].machine.address.data, hosts[target].machine.address.data


def _check(network: HostNetwork) -> Network:
    """Has mypy hold it to what nemeses expect."""
    return network
