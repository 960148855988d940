"""Faults of links: brought to the network, and taken from it without ending the others'."""

from __future__ import annotations

from harness.cluster.capabilities import Network, PacketFault
from harness.schedule.faults import Cut, Fault, ShapeLinks, SlowLinks
from nemesis.base import Scene, the


async def break_links(network: Network, fault: Fault) -> None:
    """The network proves it, or raises FaultMissedError. Faults of other things are left alone."""
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
    """A network ends all its faults at once, so those still in force are put back."""
    network = the(scene.cluster.network)
    async with scene.links:
        await network.heal()
        for other in scene.others(fault, Fault):
            await break_links(network, other)
