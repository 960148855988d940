"""Leadership moves though nothing is wrong with the leader."""

from __future__ import annotations

from random import Random

import pytest

from harness.cluster.errors import FaultMissedError
from harness.schedule.faults import MoveLeader
from harness.sim.sim_broker import SimBroker
from nemesis.base import NothingToStrikeError
from tests.unit.nemesis.scenes import TOPIC, Stage, a_moment, mend, named, on_stage, strike


@on_stage(3, partitions=4)
async def test_every_partition_is_led_by_another(stage: Stage) -> None:
    before = {one.index: one for one in await stage.cluster.partitions(TOPIC)}
    faults, proofs = await strike(stage, "move:all")
    assert len(faults) == 4
    for fault, proof in zip(faults, proofs, strict=True):
        assert isinstance(fault, MoveLeader)
        (now,) = [
            one for one in await stage.cluster.partitions(TOPIC) if one.index == fault.partition
        ]
        assert now.leader == fault.replicas[0] != before[fault.partition].leader
        assert now.replicas == fault.replicas
        assert set(now.replicas) == set(before[fault.partition].replicas)
        assert proof == (
            f"{now.leader} leads t-{fault.partition}; before, "
            f"{before[fault.partition].leader} led it"
        )
    with pytest.raises(NothingToStrikeError, match=r"n\d already leads t-0"):
        await named("move").inject(stage.scene, faults[0])
    await mend(stage, "move:all", faults)
    faults, _ = await strike(stage, "move", seed=2)
    assert len(faults) == 1


@on_stage(3)
async def test_an_election_that_elects_nobody_is_missed(stage: Stage) -> None:
    async def nothing(_: SimBroker, topic: str, index: int) -> None:
        """It says that it was done."""

    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(SimBroker, "elect", nothing)
        with pytest.raises(
            FaultMissedError, match=r"t-\d: timed out after 15 s waiting until n\d leads"
        ):
            await strike(stage, "move")


@on_stage(3)
async def test_without_a_second_replica_in_sync_nothing_moves(stage: Stage) -> None:
    for node in ("n2", "n3"):
        await stage.process.kill(node)
    fault = MoveLeader(name="m", at_ms=0.0, topic=TOPIC, partition=9, replicas=("n1",))
    with pytest.raises(NothingToStrikeError, match="t has no partition 9"):
        await named("move").inject(stage.scene, fault)
    stage.scene.topics = ()
    with pytest.raises(NothingToStrikeError, match="no partition has a second replica"):
        await named("move").choose(stage.scene, a_moment("move"), Random(1))
