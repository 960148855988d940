"""partition: cuts every link that a drawn graph of reachable hosts lacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from harness.cluster import Cluster
from harness.cluster.capabilities import Node
from harness.cluster.parts import NO_PARTS, Part, offered, the
from harness.schedule.faults import Cut, Fault
from nemesis import topology
from nemesis.base import Ground, Moment, NothingToStrikeError, Scene
from nemesis.links import heal_links, prove_reach
from nemesis.targets import TARGETS, check_target, has_target, resolve, why_no_target

_OF_THREE = frozenset({"majorities-ring", "bridge"})
"""Variants that cut nothing between fewer than three nodes."""


@dataclass(frozen=True, slots=True)
class PartitionFaults:
    """Cuts links between nodes, or between clients and nodes, and measures exactly which."""

    name: str = "partition"
    variant: str = ""
    target: str = ""
    kinds: ClassVar[tuple[type[Fault], ...]] = (Cut,)
    variants: ClassVar[tuple[str, ...]] = (
        "halves",
        "random-halves",
        "single",
        "majorities-ring",
        "bridge",
        "one-way",
        "rack",
        "leader",
        "controller",
        "clients",
    )
    needs: ClassVar[frozenset[Part]] = NO_PARTS

    def __post_init__(self) -> None:
        check_target(self.target)

    def why_not(self, cluster: Cluster) -> str | None:
        if cluster.network is None:
            return cluster.why_not("network")
        if self.variant == "clients" and cluster.place.client_host is None:
            return "the clients run on no host of their own here, so they cannot be cut off"
        return None

    def why_never(self, ground: Ground) -> str | None:
        if (reason := why_no_target(self.target, ground)) is not None:
            return reason
        if self.variant in TARGETS and (reason := why_no_target(self.variant, ground)) is not None:
            return reason
        count = len(ground.nodes)
        if count < 2 and not self._is_for_clients():
            return (
                "a single node has no peer to be cut off from; try partition:clients, or --nodes 5"
            )
        if count < 3 and self.variant in _OF_THREE:
            return f"{self.variant} of {count} nodes cuts nothing; try --nodes 5"
        if self.variant == "rack" and len(set(ground.racks.values())) < 2:
            return "the nodes are not in several racks; try --nodes 5"
        if self.variant == "one-way" and self._is_everyone(ground):
            return f"{self.name} targets every node and cuts nothing; try partition:one-way"
        return None

    def _is_everyone(self, ground: Ground) -> bool:
        return self.target == "all" or set(ground.nodes) <= {*self.target.split("+")}

    async def choose(self, scene: Scene, moment: Moment, dice: Random) -> tuple[Fault, ...]:
        clients = scene.cluster.place.client_host
        if len(scene.cluster.nodes) < 2 and not self._is_for_clients():
            raise NothingToStrikeError("a single node has no peer to be cut off from")
        if self.target and not self.variant:
            graph = await self._drawn_around(scene, dice)
        else:
            variant = self.variant or dice.choice(self._possible(scene))
            graph = await self._drawn(scene, variant, dice)
        if clients is not None and clients not in graph:
            graph = topology.with_clients(graph, clients)
        links = topology.cut_links(graph)
        if not links:
            raise NothingToStrikeError(
                f"{self.name} of {len(scene.cluster.nodes)} nodes cuts nothing"
            )
        return (Cut(name=moment.name, at_ms=moment.at_ms, for_ms=moment.for_ms, links=links),)

    def _is_for_clients(self) -> bool:
        """Whether clients may be cut off; a cluster of one node allows no other partition."""
        return self.variant == "clients" or not (self.variant or self.target)

    def _possible(self, scene: Scene) -> list[str]:
        if len(scene.cluster.nodes) < 2:
            return ["clients"]
        parts = offered(scene.cluster.system)
        left_out = {each for each in self.variants if not has_target(each, parts)}
        if len(set(scene.racks.values())) < 2:
            left_out.add("rack")
        if scene.cluster.place.client_host is None:
            left_out.add("clients")
        if len(scene.cluster.nodes) < 3:
            left_out |= _OF_THREE
        return [each for each in self.variants if each not in left_out]

    async def _drawn(self, scene: Scene, variant: str, dice: Random) -> topology.Graph:
        nodes = scene.cluster.nodes
        match variant:
            case "halves":
                return topology.halves(nodes)
            case "random-halves":
                return topology.random_halves(nodes, dice)
            case "majorities-ring":
                return topology.majorities_ring(nodes, dice)
            case "bridge":
                return topology.bridge(nodes, dice)
            case "one-way":
                some = await self._aimed_at(scene, "", dice)
                return topology.one_way(nodes, some, are_deaf=dice.random() < 0.5)
            case "rack":
                racks = sorted(set(scene.racks.values()))
                if len(racks) < 2:
                    raise NothingToStrikeError("the nodes are not in several racks")
                return topology.rack(nodes, scene.racks, dice.choice(racks))
            case "clients":
                cut_off = await self._aimed_at(scene, "", dice)
                reached = [node for node in nodes if node not in cut_off]
                clients = the(scene.cluster.place.client_host)
                return topology.with_clients(topology.complete(nodes), clients, reached)
            case "leader" | "controller":
                return topology.isolated(nodes, await self._aimed_at(scene, variant, dice))
            case _:
                return topology.isolated(nodes, await self._aimed_at(scene, "one", dice))

    async def _drawn_around(self, scene: Scene, dice: Random) -> topology.Graph:
        """Cut the target off from the others: each node alone, as one half, or one way."""
        nodes = scene.cluster.nodes
        some = await self._aimed_at(scene, "", dice)
        ways = ("alone", "half", "one-way") if len(some) < len(nodes) else ("alone",)
        match dice.choice(ways):
            case "half":
                return topology.half_around(nodes, some, dice)
            case "one-way":
                return topology.one_way(nodes, some, are_deaf=dice.random() < 0.5)
            case _:
                return topology.isolated(nodes, some)

    async def _aimed_at(self, scene: Scene, usual: str, dice: Random) -> Sequence[Node]:
        return await resolve(
            scene, self.target or usual, dice, among=("one", "minority", "leader", "controller")
        )

    async def inject(self, scene: Scene, fault: Fault) -> str:
        assert isinstance(fault, Cut)
        network = the(scene.cluster.network)
        graph = topology.without(network.hosts, fault.links)
        async with scene.links:
            before = await network.reachable()
            await network.cut(fault.links)
            await prove_reach(network, before, fault.links)
        return f"measured reachability: {topology.shown(graph)}"

    async def heal(self, scene: Scene, fault: Fault) -> None:
        await heal_links(scene, fault)
