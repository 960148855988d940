"""Hosts lose their power within a budget, and come back."""

from __future__ import annotations

from random import Random

import pytest

from harness.cluster.errors import FaultMissedError
from harness.schedule.faults import PowerLoss
from harness.sim.nodes import SimNode
from harness.sim.place_disks import PlaceDisks
from nemesis.base import NothingToStrikeError
from nemesis.budget import count_the_mended
from tests.unit.nemesis.scenes import Stage, a_moment, mend, named, on_stage, strike


@on_stage(3)
async def test_a_host_goes_dark_and_comes_back(stage: Stage) -> None:
    everyone = await stage.network.reachable()
    (fault,), (proof,) = await strike(stage, "power:n2")
    assert proof == "n2 is off: its process has ended and unsynced writes are lost"
    assert not await stage.process.is_running("n2")
    assert not any("n2" in link for link in await stage.network.reachable())
    await mend(stage, "power:n2", [fault])
    assert await stage.network.reachable() == everyone
    assert await stage.process.is_running("n2")
    await stage.until_in_sync()


@on_stage(5, partitions=4)
async def test_no_more_replicas_are_damaged_than_a_partition_can_do_without(stage: Stage) -> None:
    """Three replicas of which two must be in sync: one may lose data until it has caught up."""
    scene = stage.scene
    faults, _ = await strike(stage, "power:all")
    struck = {fault.node for fault in faults if isinstance(fault, PowerLoss)}
    assert 1 <= len(struck) < 5
    assert scene.damaged == struck
    for found in await stage.cluster.partitions("t"):
        assert len(struck.intersection(found.replicas)) <= 1
    beside = next(node for node in stage.cluster.nodes if node not in struck)
    with pytest.raises(NothingToStrikeError, match=r"no further replica may be damaged before n\d"):
        await named(f"power:{beside}").choose(scene, a_moment("power"), Random(1))
    await mend(stage, "power:all", faults)
    await stage.until_in_sync()
    await count_the_mended(scene)
    assert scene.damaged == set()


@on_stage(3)
async def test_a_node_counts_as_damaged_until_it_is_back_in_the_isr(stage: Stage) -> None:
    faults, _ = await strike(stage, "power:n1")
    await count_the_mended(stage.scene)
    assert stage.scene.damaged == {"n1"}
    await mend(stage, "power:n1", faults)
    await stage.until_in_sync()
    await count_the_mended(stage.scene)
    assert stage.scene.damaged == set()


@on_stage(3)
async def test_unsafe_faults_know_no_budget(stage: Stage) -> None:
    stage.scene.unsafe_faults = True
    faults, _ = await strike(stage, "power:all")
    assert len(faults) == 3
    await mend(stage, "power:all", faults)
    for node in stage.cluster.nodes:
        assert await stage.process.is_running(node)


@on_stage(3)
async def test_power_that_stays_is_missed(stage: Stage) -> None:
    async def nothing(_: PlaceDisks, node: str) -> None:
        """It says that it was done."""

    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(SimNode, "power_loss", lambda _: True)
        with pytest.raises(FaultMissedError, match="n1 still has power"):
            await strike(stage, "power:n1")
    stage.scene.damaged.clear()
    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(PlaceDisks, "lose_power", nothing)
        with pytest.raises(
            FaultMissedError, match="the process of n1 still runs after the power loss"
        ):
            await strike(stage, "power:n1", seed=2)
