"""network: cuts and slows the links between simulated hosts.

Each fault is asked for its effect, by datagrams that go the same way as every message. Clients have
hosts of their own: to cut one off, name its host as if it were a node.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from itertools import permutations

from harness.cluster.base import Network, Node
from harness.cluster.errors import FaultMissedError
from harness.sim.links import NS, Link, Slowness
from harness.sim.simulation import Simulation

Way = tuple[Node, Node]


class PlaceNetwork:
    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._network = simulation.network
        self._cuts: list[Link] = []
        self._slowed: list[tuple[Link, Slowness]] = []

    async def isolate(self, groups: Sequence[frozenset[Node]]) -> None:
        members = [node for group in groups for node in group]
        if len(members) != len(set(members)):
            raise ValueError(f"a node is in several of {_shown(groups)}")
        self._tell("fault", f"isolate {_shown(groups)}")
        await self._cut(
            [
                (source, target)
                for here, there in permutations(groups, 2)
                for source in sorted(here)
                for target in sorted(there)
            ]
        )

    async def cut(self, source: Node, target: Node) -> None:
        self._tell("fault", f"cut {source} > {target}")
        await self._cut([(source, target)])

    async def slow(self, source: Node, target: Node, by_s: float) -> None:
        self._tell("fault", f"slow {source} > {target} by {by_s:g} s")
        link, slowness = self._network.link(source, target), Slowness(extra_ns=int(by_s * NS))
        link.slow_down(slowness)
        self._slowed.append((link, slowness))
        taken_s = await self._transit_s(source, target)
        if taken_s is not None and taken_s < by_s:
            raise FaultMissedError(f"{source} still reaches {target} within {taken_s:g} s")

    async def heal(self) -> None:
        if self._cuts or self._slowed:
            self._tell("heal", "network")
        while self._cuts:
            self._cuts.pop().heal()
        while self._slowed:
            link, slowness = self._slowed.pop()
            link.speed_up(slowness)

    async def can_reach(self, source: Node, target: Node) -> bool:
        return await self._transit_s(source, target) is not None

    async def _cut(self, ways: Sequence[Way]) -> None:
        for way in ways:
            link = self._network.link(*way)
            link.cut()
            self._cuts.append(link)
        reached = await asyncio.gather(*(self.can_reach(*way) for way in ways))
        for (source, target), is_reached in zip(ways, reached, strict=True):
            if is_reached:
                raise FaultMissedError(f"{source} still reaches {target}")

    async def _transit_s(self, source: Node, target: Node) -> float | None:
        """How long a datagram is under way, which nobody sends again; None if it is lost."""
        loop, link = self._simulation.loop, self._network.link(source, target)
        sent_ns = loop.now_ns
        draw = loop.decisions.of("datagram_delay", f"{source}>{target}").next()
        arrived: asyncio.Future[bool] = loop.create_future()

        def arrive(host: Node) -> None:
            # Whoever asked may have given up meanwhile.
            if not arrived.done():
                arrived.set_result(self._network.host(host).is_up and not link.is_cut)

        loop.call_kernel(link.arrival_ns(sent_ns, 0, draw), arrive, target)
        return (loop.now_ns - sent_ns) / NS if await arrived else None

    def _tell(self, kind: str, detail: str) -> None:
        self._simulation.trace.emit(kind, "", detail=detail)


def _shown(groups: Iterable[frozenset[Node]]) -> str:
    return " | ".join(" ".join(sorted(group)) for group in groups)


def _check(network: PlaceNetwork) -> Network:
    """Has mypy hold it to what nemeses expect."""
    return network
