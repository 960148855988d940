"""packet: links that delay, lose, duplicate, reorder, corrupt or throttle packets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from random import Random
from typing import Any, ClassVar

from harness.cluster import Cluster
from harness.cluster.capabilities import Link, Node, PacketFault
from harness.cluster.parts import NO_PARTS, Part, the
from harness.schedule.faults import Fault, ShapeLinks, SlowLinks
from nemesis.base import Ground, Moment, Scene
from nemesis.links import break_links, heal_links, packet_fault
from nemesis.targets import check_target, resolve, why_no_target

_FORMS: dict[str, dict[str, Any]] = {
    "delay": {"delay_ms": 50.0},
    "jitter": {"delay_ms": 50.0, "jitter_ms": 40.0},
    "loss": {"loss": 0.2},
    "duplicate": {"duplicate": 0.2},
    "reorder": {"delay_ms": 50.0, "reorder": 0.2},
    "corrupt": {"corrupt": 0.05},
    "rate": {"bytes_per_s": 125_000.0},
}
"""Jepsen's figures, except for `corrupt`: with a fifth of the packets corrupt nothing passes."""

_REGIONS = ("us-east", "us-west", "eu")
_APART_MS = {("us-east", "us-west"): 30.0, ("eu", "us-east"): 40.0, ("eu", "us-west"): 70.0}
"""One-way delay between two regions."""
_REGION_JITTER = 0.1


@dataclass(frozen=True, slots=True)
class Packets:
    """Delays, loses, doubles, reorders, corrupts or throttles packets, or spreads the nodes over
    regions of the world."""

    name: str = "packet"
    variant: str = ""
    target: str = ""
    kinds: ClassVar[tuple[type[Fault], ...]] = (ShapeLinks, SlowLinks)
    variants: ClassVar[tuple[str, ...]] = (*_FORMS, "regions")
    needs: ClassVar[frozenset[Part]] = NO_PARTS

    def __post_init__(self) -> None:
        check_target(self.target)
        if self.variant == "regions" and self.target:
            raise ValueError("packet:regions takes no target: it strikes all nodes")

    def why_not(self, cluster: Cluster) -> str | None:
        if cluster.network is None:
            return cluster.why_not("network")
        reasons = {each: _why_not_form(cluster, each) for each in self.variants}
        if self.variant:
            return reasons[self.variant]
        return None if None in reasons.values() else next(iter(reasons.values()))

    def why_never(self, ground: Ground) -> str | None:
        return why_no_target(self.target, ground)

    async def choose(self, scene: Scene, moment: Moment, dice: Random) -> tuple[Fault, ...]:
        possible = [each for each in self.variants if _why_not_form(scene.cluster, each) is None]
        variant = self.variant or dice.choice(possible)
        hosts = the(scene.cluster.network).hosts
        if variant == "regions":
            return _spread(hosts, moment, dice)
        usual = ("one", "minority", "leader", "all")
        struck = await resolve(scene, self.target, dice, among=usual)
        links = tuple(link for link in permutations(hosts, 2) if not set(link).isdisjoint(struck))
        return (_shaped(moment, moment.name, links, _FORMS[variant]),)

    async def inject(self, scene: Scene, fault: Fault) -> str:
        assert isinstance(fault, ShapeLinks | SlowLinks)
        async with scene.links:
            # The network measures each link and raises FaultMissedError for an unchanged one.
            await break_links(the(scene.cluster.network), fault)
        return f"measured on {len(fault.links)} links: {_shown(packet_fault(fault))}"

    async def heal(self, scene: Scene, fault: Fault) -> None:
        await heal_links(scene, fault)


def _why_not_form(cluster: Cluster, variant: str) -> str | None:
    form = _FORMS["jitter"] if variant == "regions" else _FORMS[variant]
    return the(cluster.network).why_not(PacketFault(**form))


def _shaped(moment: Moment, name: str, links: Sequence[Link], form: dict[str, Any]) -> ShapeLinks:
    return ShapeLinks(
        name=name, at_ms=moment.at_ms, for_ms=moment.for_ms, links=tuple(links), **form
    )


def _spread(hosts: Sequence[Node], moment: Moment, dice: Random) -> tuple[Fault, ...]:
    """Assign each host to a region; one fault per pair of regions."""
    dealt = dice.sample(hosts, len(hosts))
    region = {host: _REGIONS[number % len(_REGIONS)] for number, host in enumerate(dealt)}
    faults = []
    for apart, delay_ms in _APART_MS.items():
        links = [link for link in permutations(hosts, 2) if _between(link, region) == apart]
        if links:
            form = {"delay_ms": delay_ms, "jitter_ms": delay_ms * _REGION_JITTER}
            faults.append(_shaped(moment, f"{moment.name}/{'-'.join(apart)}", links, form))
    return tuple(faults)


def _between(link: Link, region: dict[Node, str]) -> tuple[str, str]:
    here, there = sorted(region[host] for host in link)
    return here, there


def _shown(fault: PacketFault) -> str:
    said = {
        "delay": f"{fault.delay_ms:g} ms" if fault.delay_ms else "",
        "jitter": f"{fault.jitter_ms:g} ms" if fault.jitter_ms else "",
        "loss": f"{fault.loss:.0%}" if fault.loss else "",
        "duplicate": f"{fault.duplicate:.0%}" if fault.duplicate else "",
        "reorder": f"{fault.reorder:.0%}" if fault.reorder else "",
        "corrupt": f"{fault.corrupt:.0%}" if fault.corrupt else "",
        "rate": f"{fault.bytes_per_s:,.0f} bytes/s" if fault.bytes_per_s is not None else "",
    }
    return ", ".join(f"{what} {how}" for what, how in said.items() if how)
