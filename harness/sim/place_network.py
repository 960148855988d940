"""network: cuts and shapes the links between simulated hosts.

Each fault is asked for its effect, by datagrams that go the same way as every message. A simulated
connection is TCP's: a packet that is lost or spoilt is sent again and comes late, and of a packet
that is there twice nobody hears. So loss and corruption show as messages that are late by a
retransmission, and duplicates do not show at all.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Sequence
from itertools import permutations, product

from harness.cluster.capabilities import Link, Network, Node, PacketFault
from harness.cluster.errors import FaultMissedError
from harness.schedule.faults import CLIENTS
from harness.sim.links import FIRST_RETRY_NS, NS, Slowness
from harness.sim.links import Link as SimLink
from harness.sim.simulation import Simulation

_MS = NS // 1000
_LOOK_S = 0.1
"""How long a probe that is to feel the rate would occupy a link at that rate."""
_DOUBT = 1e-6
"""How likely a fault that is in force may be to spare every probe."""


class PlaceNetwork:
    def __init__(
        self, simulation: Simulation, hosts: Sequence[Node], outsiders: Sequence[Node] = ()
    ) -> None:
        """`hosts` may be filled later. `outsiders` are neither nodes nor clients."""
        self._outsiders = (simulation.loop.outside.host, *outsiders)
        self._simulation = simulation
        self._network = simulation.network
        self._hosts = hosts
        self._cuts: list[SimLink] = []
        self._shaped: dict[Link, Slowness] = {}

    @property
    def hosts(self) -> Sequence[Node]:
        return tuple(self._hosts)

    def why_not(self, fault: PacketFault) -> str | None:
        if fault.duplicate:
            return "simulated connections are TCP's, which lets nobody see a packet twice"
        if fault.reorder and not fault.delay_ms:
            return "a packet overtakes others only where those are delayed"
        return None

    async def cut(self, links: Sequence[Link]) -> None:
        self._tell("fault", f"cut {_shown(links)}")
        ways = [way for link in links for way in self._ways(link)]
        for way in ways:
            cut = self._network.link(*way)
            cut.cut()
            self._cuts.append(cut)
        missed = await self._arriving(ways)
        if missed:
            raise FaultMissedError(f"still open: {_shown(sorted(missed))}")

    async def shape(self, links: Sequence[Link], fault: PacketFault) -> None:
        reason = self.why_not(fault)
        if reason is not None:
            raise FaultMissedError(reason)
        self._tell("fault", f"shape {_shown(links)}")
        slowness = Slowness(
            extra_ns=int(fault.delay_ms * _MS),
            jitter_ns=int(fault.jitter_ms * _MS),
            late_share=1 - (1 - fault.loss) * (1 - fault.corrupt),
            overtaking_share=fault.reorder,
            bytes_per_s=fault.bytes_per_s,
        )
        ways = [way for link in links for way in self._ways(link)]
        for way in ways:
            shaped = self._network.link(*way)
            if way in self._shaped:
                shaped.speed_up(self._shaped[way])
            shaped.slow_down(slowness)
            self._shaped[way] = slowness
        await asyncio.gather(*(self._prove_shape(way, slowness) for way in ways))

    async def heal(self) -> None:
        if self._cuts or self._shaped:
            self._tell("heal", "network")
        while self._cuts:
            self._cuts.pop().heal()
        while self._shaped:
            link, slowness = self._shaped.popitem()
            self._network.link(*link).speed_up(slowness)
        wanted = [
            way
            for link in self._links()
            for way in self._ways(link)
            if all(self._network.host(end).is_up for end in way)  # Its power is not ours to heal.
        ]
        still = set(wanted) - await self._arriving(wanted)
        if still:
            raise FaultMissedError(f"still cut after the healing: {_shown(sorted(still))}")

    async def reachable(self) -> frozenset[Link]:
        links = self._links()
        arriving = await self._arriving([way for link in links for way in self._ways(link)])
        return frozenset(link for link in links if arriving.issuperset(self._ways(link)))

    def _links(self) -> list[Link]:
        return list(permutations(self._hosts, 2))

    def _ways(self, link: Link) -> list[Link]:
        """Each client may have a host of its own; in a link they all go by one name."""
        return list(product(self._machines(link[0]), self._machines(link[1])))

    def _machines(self, host: Node) -> list[Node]:
        if host != CLIENTS:
            return [host]
        others = (*self._hosts, *self._outsiders, CLIENTS)
        return [CLIENTS, *(name for name in self._network.host_names if name not in others)]

    async def _arriving(self, links: Sequence[Link]) -> set[Link]:
        taken = await asyncio.gather(*(self._transit_s(link) for link in links))
        return {link for link, taken_s in zip(links, taken, strict=True) if taken_s is not None}

    async def _prove_shape(self, link: Link, slowness: Slowness) -> None:
        """On a link that is cut besides nothing arrives, and nothing can be said."""
        shares = (slowness.late_share, slowness.overtaking_share)
        count = max(_probes(share) for share in shares)
        size = int((slowness.bytes_per_s or 0) * _LOOK_S)
        sizes = [size, *[0] * (count - 1)]
        taken = await asyncio.gather(*(self._transit_s(link, each) for each in sizes))
        times_s = [taken_s for taken_s in taken if taken_s is not None]
        if not times_s:
            return
        least_s = (slowness.extra_ns - slowness.jitter_ns) / NS
        late_s = least_s + FIRST_RETRY_NS / NS
        complaint = ""
        if not slowness.overtaking_share and min(times_s) < least_s:
            complaint = f"still reaches it within {min(times_s):g} s"
        elif slowness.overtaking_share and min(times_s) >= least_s > 0:
            complaint = f"lets none of {count} messages overtake another"
        elif slowness.late_share and max(times_s) < late_s:
            complaint = f"loses none of {count} messages"
        elif slowness.bytes_per_s is not None and max(times_s) < _LOOK_S:
            complaint = f"carries {size} bytes within {max(times_s):g} s"
        if complaint:
            raise FaultMissedError(f"the link {_shown([link])} {complaint}")

    async def _transit_s(self, link: Link, size: int = 0) -> float | None:
        """How long a datagram is under way, which nobody sends again; None if a cut takes it."""
        source, target = link
        loop, way = self._simulation.loop, self._network.link(source, target)
        sent_ns = loop.now_ns
        draw = loop.decisions.of("datagram_delay", f"{source}>{target}").next()
        arrived: asyncio.Future[bool] = loop.create_future()

        def arrive(host: Node) -> None:
            # Whoever asked may have given up meanwhile.
            if not arrived.done():
                is_up = self._network.host(source).is_up and self._network.host(host).is_up
                arrived.set_result(is_up and not way.is_cut)

        loop.call_kernel(way.arrival_ns(sent_ns, size, draw), arrive, target)
        return (loop.now_ns - sent_ns) / NS if await arrived else None

    def _tell(self, kind: str, detail: str) -> None:
        self._simulation.trace.emit(kind, "", detail=detail)


def _probes(share: float) -> int:
    """So many that one of them at least is hit."""
    return math.ceil(math.log(_DOUBT, 1 - share)) if 0 < share < 1 else 1


def _shown(links: Iterable[Link]) -> str:
    return ", ".join(f"{source} > {target}" for source, target in links)


def _check(network: PlaceNetwork) -> Network:
    """Has mypy hold it to what nemeses expect."""
    return network
