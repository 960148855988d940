"""network: cuts and shapes links between hosts, and asks by datagrams what is left of them."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Collection, Sequence
from functools import partial
from itertools import permutations

from harness.cluster.capabilities import Link, Network, Node, PacketFault
from harness.cluster.errors import FaultMissedError
from harness.cluster.netns.fate import QUEUE_S_MAX
from harness.cluster.netns.fleet import Fleet
from harness.cluster.netns.measured import measured, why_not_shown
from harness.cluster.netns.reach import heard
from harness.cluster.netns.shaping import Shaper, shaper, why_not_shaped

_ROUNDS = 5
_ROUNDS_OF_A_LOSSY_LINK_MAX = 60
_ROUND_S = 0.04
_AT_LAST_S = 0.05
_HEAL_ROUNDS = 50
_UNHEARD_BY_CHANCE = 1e-6


class HostNetwork:
    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._shaper: Shaper | None = None
        self._shapes: dict[Link, PacketFault] = {}
        fleet.when_plugged_in = self._shape_again

    @property
    def hosts(self) -> Sequence[Node]:
        return tuple(self._fleet.hosts)

    def why_not(self, fault: PacketFault) -> str | None:
        return why_not_shaped(fault)

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
        wanted = self._known(links)
        if reason := await self._fleet.call(lambda: self.why_not(fault)):
            raise FaultMissedError(reason)
        if self._shaper is None:
            self._shaper = shaper(self._fleet)
        self._shapes.update(dict.fromkeys(wanted, fault))
        mailboxes = self._fleet.mailboxes()
        alive = sorted(link for link in wanted if set(link) <= mailboxes.keys())
        await asyncio.gather(*(self._shaper.set(link, fault) for link in alive))
        open_ones = await self._heard(frozenset(alive))
        found = await self._fleet.call(partial(measured, mailboxes, sorted(open_ones), fault))
        for (source, target), seen in found.items():
            if reason := why_not_shown(fault, seen):
                raise FaultMissedError(f"from {source} to {target} {reason}")

    async def heal(self) -> None:
        if not self._fleet.hosts:
            return
        await self._fleet.switch.nft("flush set bridge links cut\n", why="heal links at the switch")
        if self._shaper is not None:
            await asyncio.gather(*map(self._shaper.clear, self._shapes))
            self._shapes.clear()
        wanted = frozenset(self._pairs_of_the_living())
        for source, target in sorted(wanted - await self._heard(wanted, rounds=_HEAL_ROUNDS)):
            raise FaultMissedError(f"{source} does not reach {target} although nothing is cut")

    async def reachable(self) -> frozenset[Link]:
        return await self._heard(frozenset(self._pairs_of_the_living()))

    async def close(self) -> None:
        shaping, self._shaper = self._shaper, None
        self._shapes.clear()
        if shaping is not None:
            await shaping.close()

    async def _shape_again(self, nodes: Collection[Node]) -> None:
        """Those that have just come back, before they send the first packet."""
        if self._shaper is None:
            return
        for node in nodes:
            self._shaper.forget(node)
        for link, fault in self._shapes.items():
            if set(link) & set(nodes) and all(
                self._fleet.host(node).machine.is_on for node in link
            ):
                await self._shaper.set(link, fault)

    def _pairs_of_the_living(self) -> list[Link]:
        return list(permutations(self._fleet.mailboxes(), 2))

    async def _heard(self, links: frozenset[Link], *, rounds: int = _ROUNDS) -> frozenset[Link]:
        mailboxes = self._fleet.mailboxes()
        shapes = [fault for link, fault in self._shapes.items() if link in links]
        ask = partial(
            heard,
            mailboxes,
            links,
            rounds=max(rounds, *map(_rounds_through, shapes), 0),
            every_s=_ROUND_S,
            at_last_s=_AT_LAST_S + max(map(_under_way_s, shapes), default=0),
        )
        return await self._fleet.call(ask)

    def _known(self, links: Sequence[Link]) -> frozenset[Link]:
        for source, target in links:
            self._fleet.host(source)
            self._fleet.host(target)
            if source == target:
                raise ValueError(f"no link leads from {source} to itself")
        return frozenset(links)

    def _pair(self, link: Link) -> tuple[str, str]:
        source, target = (self._fleet.host(node).machine.address for node in link)
        return source.data, target.data


def _rounds_through(fault: PacketFault) -> int:
    """So many that at least one datagram comes through."""
    lost = 1 - (1 - fault.loss) * (1 - fault.corrupt)
    if not 0 < lost < 1:
        return 0
    return min(_ROUNDS_OF_A_LOSSY_LINK_MAX, math.ceil(math.log(_UNHEARD_BY_CHANCE, lost)))


def _under_way_s(fault: PacketFault) -> float:
    in_line_s = 0.0 if fault.bytes_per_s is None else QUEUE_S_MAX
    return 1.5 * (fault.delay_ms + fault.jitter_ms) / 1e3 + in_line_s


def _check(network: HostNetwork) -> Network:
    """Has mypy hold it to what nemeses expect."""
    return network
