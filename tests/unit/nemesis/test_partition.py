"""A partition is exactly the graph it was drawn as, and only while it lasts."""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest

from harness.cluster.capabilities import Link
from harness.cluster.errors import FaultMissedError
from harness.schedule.faults import Cut, Kill
from harness.sim.links import Link as SimLink
from harness.sim.place_network import PlaceNetwork
from nemesis.base import LapsedError, NothingToStrikeError
from nemesis.partition import PartitionFaults
from tests.unit.nemesis.scenes import Stage, a_moment, mend, named, on_stage, strike

HOSTS = ("n1", "n2", "n3", "n4", "n5", "clients")
EVERYONE = frozenset(permutations(HOSTS, 2))


@on_stage(5)
async def test_every_topology_takes_hold_and_heals(stage: Stage) -> None:
    stage.scene.racks = dict(zip(stage.cluster.nodes, "aabbc", strict=True))
    for number, variant in enumerate(PartitionFaults.variants):
        text = f"partition:{variant}"
        (fault,), (proof,) = await strike(stage, text, seed=number + 1)
        assert isinstance(fault, Cut)
        assert await stage.network.reachable() == EVERYONE - set(fault.links)
        assert proof.startswith("measured reachability: ")
        # Only one kind cuts off clients: Jepsen never does.
        assert any("clients" in link for link in fault.links) == (variant == "clients")
        await mend(stage, text, [fault])
        assert await stage.network.reachable() == EVERYONE


@on_stage(5)
async def test_a_leader_and_a_controller_are_cut_off_by_name(stage: Stage) -> None:
    controller = await stage.cluster.controller()
    (fault,), (proof,) = await strike(stage, "partition:controller")
    assert isinstance(fault, Cut)
    assert {link for link in fault.links if controller not in link} == set()
    assert len(fault.links) == 8
    assert " | " in proof
    await mend(stage, "partition:controller", [fault])
    (fault,), _ = await strike(stage, "partition:single@n2")
    assert isinstance(fault, Cut)
    assert all("n2" in link for link in fault.links)
    await mend(stage, "partition:single@n2", [fault])


@on_stage(5)
async def test_a_target_is_cut_off_from_a_majority_whatever_the_way(stage: Stage) -> None:
    sides = set()
    for seed in range(30):
        (fault,) = await named("partition@n2").choose(
            stage.scene, a_moment("partition@n2"), Random(seed)
        )
        assert isinstance(fault, Cut)
        lost = {node for link in fault.links if "n2" in link for node in link} - {"n2"}
        assert "clients" not in lost
        assert len(lost) >= 3
        sides.add(len(fault.links))
    # One way, both ways, and with company; nothing is cut but between the two sides.
    assert sides == {4, 8, 12}
    (fault,) = await named("partition@all").choose(stage.scene, a_moment("p"), Random(1))
    assert isinstance(fault, Cut)
    assert len(fault.links) == 20


@on_stage(3)
async def test_healing_one_partition_leaves_the_others(stage: Stage) -> None:
    everyone = await stage.network.reachable()
    (first,), _ = await strike(stage, "partition:single@n1")
    (second,), _ = await strike(stage, "partition:single@n2", seed=2)
    assert isinstance(first, Cut)
    assert isinstance(second, Cut)
    await mend(stage, "partition:single@n1", [first])
    assert await stage.network.reachable() == everyone - set(second.links)
    await mend(stage, "partition:single@n2", [second])
    assert await stage.network.reachable() == everyone


@on_stage(3)
async def test_a_partition_that_another_ones_healing_ends_is_told(stage: Stage) -> None:
    (first,), _ = await strike(stage, "partition:single@n1")
    await strike(stage, "partition:single@n2", seed=2)

    async def nothing(_: PlaceNetwork, links: list[Link]) -> None:
        """It says that it was done."""

    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(PlaceNetwork, "cut", nothing)
        said = r"partition:single@n2 2 did not stay in force: .*still open: n1 > n2"
        with pytest.raises(LapsedError, match=said):
            await named("partition").heal(stage.scene, first)


@on_stage(3)
async def test_a_partition_that_another_ones_healing_widens_is_told(stage: Stage) -> None:
    (first,), _ = await strike(stage, "partition:single@n1")
    await strike(stage, "partition:one-way@n2", seed=2)
    cut = PlaceNetwork.cut

    async def too_much(network: PlaceNetwork, links: list[Link]) -> None:
        await cut(network, [*links, ("n1", "n3")])

    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(PlaceNetwork, "cut", too_much)
        with pytest.raises(LapsedError, match=r"still open: none; cut by mistake: n1 > n3"):
            await named("partition").heal(stage.scene, first)


@on_stage(3)
async def test_a_cut_that_does_nothing_is_missed(stage: Stage) -> None:
    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(SimLink, "cut", lambda _: None)
        with pytest.raises(FaultMissedError, match="still open: n1 > n2"):
            await strike(stage, "partition:single@n1")

    async def nothing(_: PlaceNetwork, links: list[Link]) -> None:
        """Not even a look at its own doing."""

    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(PlaceNetwork, "cut", nothing)
        with pytest.raises(FaultMissedError, match=r"still open: n1 > n2, .*mistake: none"):
            await strike(stage, "partition:single@n1", seed=2)


@on_stage(3)
async def test_a_cut_that_goes_too_far_is_missed_too(stage: Stage) -> None:
    cut = PlaceNetwork.cut

    async def too_much(network: PlaceNetwork, links: list[Link]) -> None:
        await cut(network, [*links, ("n2", "n3")])

    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(PlaceNetwork, "cut", too_much)
        with pytest.raises(FaultMissedError, match=r"still open: none; cut by mistake: n2"):
            await strike(stage, "partition:single@n1")


@on_stage(3)
async def test_a_host_without_power_is_not_the_partitions_doing(stage: Stage) -> None:
    await stage.disk.lose_power("n3")
    (fault,), _ = await strike(stage, "partition:single@n1")
    await mend(stage, "partition:single@n1", [fault])


@on_stage(1, partitions=1)
async def test_where_there_is_nothing_to_cut_nothing_is_struck(stage: Stage) -> None:
    for text in ("partition@n1", "partition:halves"):
        with pytest.raises(NothingToStrikeError, match="a single node has no peer"):
            await named(text).choose(stage.scene, a_moment(text), Random(1))


@on_stage(3)
async def test_without_racks_no_rack_is_cut_off(stage: Stage) -> None:
    with pytest.raises(NothingToStrikeError, match="not in several racks"):
        await named("partition:rack").choose(stage.scene, a_moment("p"), Random(1))


@on_stage(3)
async def test_healing_before_the_deed_is_safe(stage: Stage) -> None:
    fault = Cut(name="f", at_ms=0.0, links=(("n1", "n2"),))
    await named("partition").heal(stage.scene, fault)
    kill = Kill(name="k", at_ms=0.0, node="n1")
    await named("kill").heal(stage.scene, kill)
    assert await stage.process.is_running("n1")
