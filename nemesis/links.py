"""Link faults: applied to the network, and healed without ending other link faults."""

from __future__ import annotations

from collections.abc import Iterable

from harness.cluster.capabilities import Link, Network, PacketFault
from harness.cluster.errors import FaultMissedError
from harness.cluster.parts import the
from harness.schedule.faults import Cut, Fault, ShapeLinks, SlowLinks
from nemesis.base import LapsedError, Scene

_OF_LINKS = (Cut, ShapeLinks, SlowLinks)
_LOOKS = 3
"""Another fault may lose packets; one packet that arrives proves the link open."""


async def break_links(network: Network, fault: Fault) -> None:
    """Apply a link fault; the network verifies it or raises FaultMissedError."""
    match fault:
        case Cut(links=links):
            await network.cut(links)
        case ShapeLinks(links=links) | SlowLinks(links=links):
            await network.shape(links, packet_fault(fault))
        case _:
            pass


def packet_fault(fault: ShapeLinks | SlowLinks) -> PacketFault:
    if isinstance(fault, SlowLinks):
        return PacketFault(delay_ms=fault.extra_ms, bytes_per_s=fault.bytes_per_s)
    return PacketFault(
        delay_ms=fault.delay_ms,
        jitter_ms=fault.jitter_ms,
        loss=fault.loss,
        duplicate=fault.duplicate,
        reorder=fault.reorder,
        corrupt=fault.corrupt,
        bytes_per_s=fault.bytes_per_s,
    )


async def heal_links(scene: Scene, fault: Fault) -> None:
    """Heal all links at once, as the network does, and restore the other faults with proof."""
    network = the(scene.cluster.network)
    async with scene.links:
        await network.heal()
        others = [other for other in scene.others(fault, Fault) if isinstance(other, _OF_LINKS)]
        if not others:
            return
        whole = await network.reachable()
        try:
            for other in others:
                await break_links(network, other)
            cut = [link for other in others if isinstance(other, Cut) for link in other.links]
            await prove_reach(network, whole, cut)
        except FaultMissedError as missed:
            names = ", ".join(other.name for other in others)
            raise LapsedError(f"{names} did not stay in force: {missed}") from None


async def prove_reach(network: Network, before: frozenset[Link], cut: Iterable[Link]) -> None:
    """Raise FaultMissedError unless exactly the links `cut` went, of those open before.

    Links that other faults have cut were not open before.
    """
    wanted = before.difference(cut)
    found = await network.reachable()
    for _ in range(_LOOKS - 1):
        if found >= wanted:
            break
        found |= await network.reachable()
    if found != wanted:
        raise FaultMissedError(_difference(found, wanted))


def _difference(found: frozenset[Link], wanted: frozenset[Link]) -> str:
    still_open = ", ".join(f"{a} > {b}" for a, b in sorted(found - wanted)) or "none"
    too_much = ", ".join(f"{a} > {b}" for a, b in sorted(wanted - found)) or "none"
    return (
        f"measured reachability differs from the fault: still open: {still_open}; "
        f"cut by mistake: {too_much}"
    )
