"""A broker leaves with all its replicas, and joins again."""

from __future__ import annotations

from random import Random

import pytest

from harness.cluster.errors import FaultMissedError
from harness.schedule.faults import BrokerLeaves
from harness.sim.sim_broker import SimBroker
from nemesis.base import NothingToStrikeError
from tests.unit.nemesis.scenes import TOPIC, Stage, a_moment, mend, named, on_stage, strike


async def replicas(stage: Stage) -> list[tuple[str, ...]]:
    return [one.replicas for one in await stage.cluster.partitions(TOPIC)]


@on_stage(5, partitions=3)
async def test_others_take_the_place_of_one_who_leaves(stage: Stage) -> None:
    stage.keep_busy()
    before = await replicas(stage)
    leaving = before[0][0]
    (fault,), (proof,) = await strike(stage, f"membership:{leaving}")
    assert isinstance(fault, BrokerLeaves)
    held = sum(leaving in each for each in before)
    assert proof == f"{leaving} is no longer a replica of its {held} partitions and stopped cleanly"
    during = await replicas(stage)
    assert [len(each) for each in during] == [3, 3, 3]
    assert not any(leaving in each for each in during)
    assert not await stage.process.is_running(leaving)
    with pytest.raises(NothingToStrikeError, match="another broker is leaving the cluster"):
        await named("membership").choose(stage.scene, a_moment("m"), Random(1))
    await mend(stage, f"membership:{leaving}", [fault])
    assert await replicas(stage) == before
    await stage.until_in_sync()


@on_stage(3)
async def test_where_nobody_is_spare_there_is_one_replica_less(stage: Stage) -> None:
    before = await replicas(stage)
    faults, _ = await strike(stage, "membership:n2")
    assert [set(each) for each in await replicas(stage)] == [{"n1", "n3"}, {"n1", "n3"}]
    await mend(stage, "membership:n2", faults)
    assert await replicas(stage) == before


@on_stage(3)
async def test_a_broker_that_cannot_be_spared_stays(stage: Stage) -> None:
    stage.scene.min_insync_replicas = 3
    with pytest.raises(
        NothingToStrikeError, match=r"t-0 needs its replica on n1: min.insync.replicas is 3"
    ):
        await named("membership:n1").choose(stage.scene, a_moment("m"), Random(1))


@on_stage(3)
async def test_one_who_keeps_its_replicas_has_not_left(stage: Stage) -> None:
    async def nothing(*_: object) -> None:
        """It says that it was done."""

    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(SimBroker, "reassign", nothing)
        with pytest.raises(
            FaultMissedError, match="the replicas of n1 did not move: timed out after 60 s"
        ):
            await strike(stage, "membership:n1")
    stage.scene.in_force.clear()
    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(SimBroker, "stop", nothing)
        with pytest.raises(FaultMissedError, match="n2 still runs after it was stopped"):
            await strike(stage, "membership:n2")


@on_stage(5, partitions=1)
async def test_who_is_overruled_asks_again(stage: Stage) -> None:
    """As by another nemesis, which gives the partition another order of its old replicas."""
    (before,) = await replicas(stage)
    reassign = SimBroker.reassign
    asked: list[tuple[str, ...]] = []

    async def overruled(system: SimBroker, topic: str, index: int, wanted: list[str]) -> None:
        asked.append(tuple(wanted))
        await reassign(system, topic, index, wanted)
        if len(asked) == 1:
            await reassign(system, topic, index, before[::-1])

    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(SimBroker, "reassign", overruled)
        begun_s = stage.simulation.now_s
        (fault,), _ = await strike(stage, f"membership:{before[0]}")
    assert len(asked) == 2
    assert asked[0] == asked[1]
    assert 5 <= stage.simulation.now_s - begun_s < 20
    await mend(stage, f"membership:{before[0]}", [fault])
    assert await replicas(stage) == [before]
