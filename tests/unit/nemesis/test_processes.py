"""kill, pause and restart: processes that are gone, stand still, or are other ones."""

from __future__ import annotations

from random import Random

import pytest

from harness.cluster.errors import FaultMissedError
from harness.schedule.faults import Fault, Kill, Pause, PowerLoss, RollingRestart, Stop
from harness.sim.node_process import NodeProcess
from nemesis.base import NothingToStrikeError
from tests.unit.nemesis.scenes import Stage, a_moment, mend, named, on_stage, strike
from tests.unit.nemesis.test_conductor import conductor_of


def sabotaged(method: str) -> pytest.MonkeyPatch:
    async def nothing(_: NodeProcess) -> None:
        """It says that it was done."""

    patch = pytest.MonkeyPatch()
    patch.setattr(NodeProcess, method, nothing)
    return patch


# kill


@on_stage(5)
async def test_a_majority_is_killed_and_comes_back_together(stage: Stage) -> None:
    faults, proofs = await strike(stage, "kill:majority")
    struck = [fault.node for fault in faults if isinstance(fault, Kill)]
    assert len(struck) == 3
    assert [fault.name for fault in faults] == [f"kill:majority 1/{node}" for node in struck]
    assert proofs == [f"the process of {node} has ended" for node in struck]
    for node in stage.cluster.nodes:
        assert await stage.process.is_running(node) == (node not in struck)
    with pytest.raises(NothingToStrikeError, match="already down: n1"):
        await named(f"kill:{struck[0]}").choose(stage.scene, a_moment("k"), Random(0))
    await mend(stage, "kill:majority", faults)
    await stage.until_in_sync()


@on_stage(3)
async def test_a_kill_that_kills_nobody_is_missed(stage: Stage) -> None:
    patch = sabotaged("kill")
    try:
        with pytest.raises(FaultMissedError, match="n2 still runs after it was killed"):
            await strike(stage, "kill:n2")
    finally:
        patch.undo()


@on_stage(3)
async def test_a_node_comes_back_when_the_last_of_its_outages_has_ended(stage: Stage) -> None:
    kill = Kill(name="kill", at_ms=0.0, node="n1")
    power = PowerLoss(name="power", at_ms=0.0, node="n1")
    scene = stage.scene
    scene.in_force |= {"kill": kill, "power": power}
    await named("power").inject(scene, power)
    await named("kill").heal(scene, kill)
    assert not await stage.process.is_running("n1")
    await named("power").heal(scene, power)
    assert not await stage.process.is_running("n1")
    # Both are ending: without power nobody can start it, so the power's nemesis does.
    scene.ending |= {"kill", "power"}
    await named("kill").heal(scene, kill)
    assert not await stage.process.is_running("n1")
    await named("power").heal(scene, power)
    assert await stage.process.is_running("n1")


# pause


@on_stage(3)
async def test_the_paused_stand_still_until_they_are_resumed(stage: Stage) -> None:
    faults, proofs = await strike(stage, "pause:all")
    assert proofs == [f"every thread of {node} is stopped" for node in ("n1", "n2", "n3")]
    assert all([await stage.process.is_paused(node) for node in stage.cluster.nodes])
    await mend(stage, "pause:all", faults)
    assert not any([await stage.process.is_paused(node) for node in stage.cluster.nodes])


@on_stage(3)
async def test_a_pause_that_stops_nobody_is_missed(stage: Stage) -> None:
    patch = sabotaged("pause")
    try:
        with pytest.raises(FaultMissedError, match="n1 still runs after it was paused"):
            await strike(stage, "pause:n1")
    finally:
        patch.undo()
    faults, _ = await strike(stage, "pause:n2")
    patch = sabotaged("resume")
    try:
        with pytest.raises(FaultMissedError, match="n2 is still paused after it was resumed"):
            await named("pause").heal(stage.scene, faults[0])
    finally:
        patch.undo()
    await stage.process.kill("n3")
    dead: Fault = Pause(name="p", at_ms=0.0, node="n3")
    with pytest.raises(NothingToStrikeError, match="n3 cannot be paused: it is down"):
        await named("pause").inject(stage.scene, dead)
    await named("pause").heal(stage.scene, dead)


@on_stage(3)
async def test_a_pause_is_skipped_if_a_kill_comes_in_between(stage: Stage) -> None:
    scene, suspend = stage.scene, NodeProcess.pause
    kill, pause = (kind(name=kind.__name__, at_ms=0.0, node="n1") for kind in (Kill, Pause))
    scene.in_force |= {each.name: each for each in (kill, pause)}

    async def killed_first(process: NodeProcess) -> None:
        await process.kill()
        await suspend(process)

    patch = pytest.MonkeyPatch()
    patch.setattr(NodeProcess, "pause", killed_first)
    try:
        with pytest.raises(NothingToStrikeError, match="another fault took it down meanwhile"):
            await named("pause").inject(scene, pause)
        await stage.process.start("n1")
        # Without a kill in force nobody knows why the process has ended.
        scene.end(kill)
        with pytest.raises(FaultMissedError, match="ended before it could be paused"):
            await named("pause").inject(scene, pause)
    finally:
        patch.undo()


# restart


@on_stage(3)
async def test_nodes_are_restarted_one_after_the_other(stage: Stage) -> None:
    before = {node: stage.cluster.system.process(node) for node in stage.cluster.nodes}
    (fault,), (proof,) = await strike(stage, "restart")
    assert isinstance(fault, RollingRestart)
    assert sorted(fault.nodes) == ["n1", "n2", "n3"]
    for node in fault.nodes:
        assert f"{node} stopped cleanly and was started again as process 2" in proof
        assert stage.cluster.system.process(node) is not before[node]
        assert await stage.process.is_running(node)
    await mend(stage, "restart", [fault])


@on_stage(3)
async def test_each_node_that_is_back_is_written_down(stage: Stage) -> None:
    """While the restart goes on to the next one: clients come back to each."""
    conductor = conductor_of(stage, "restart")
    await conductor.strike([a_moment("restart", at_ms=100.0, for_ms=60_000.0)])
    (fault,) = conductor.faults
    assert isinstance(fault, RollingRestart)
    told = [(f, value) for f, value in stage.notes if "back" in value]
    assert told == [("back-restart", {"fault": fault.name, "back": node}) for node in fault.nodes]
    assert [f for f, _ in stage.notes].index("stop-restart") > 3


@on_stage(3)
async def test_a_restart_that_stops_nobody_is_missed(stage: Stage) -> None:
    async def nothing(_: NodeProcess, within_s: float) -> int:
        return 0

    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(NodeProcess, "terminate", nothing)
        with pytest.raises(FaultMissedError, match="n1 still runs after it was stopped"):
            await strike(stage, "restart:n1")


@on_stage(3)
async def test_one_that_is_asked_to_stop_is_down_for_as_long_as_that(stage: Stage) -> None:
    fault = Stop(name="s", at_ms=0.0, for_ms=1000.0, node="n1")
    assert await named("restart").inject(stage.scene, fault) == "n1 stopped cleanly"
    assert not await stage.process.is_running("n1")
    await named("restart").heal(stage.scene, fault)
    assert await stage.process.is_running("n1")


@on_stage(3)
async def test_who_cannot_come_back_is_left_for_the_healing(stage: Stage) -> None:
    """With the two others away there is no majority to start with."""
    (fault,) = await named("restart:n1").choose(stage.scene, a_moment("r"), Random(1))
    for node in ("n2", "n3"):
        await stage.process.kill(node)
    assert await named("restart").inject(stage.scene, fault) == (
        "n1 stopped cleanly and is not back yet"
    )
    await stage.cluster.start()
    await named("restart").heal(stage.scene, fault)
    assert await stage.process.is_running("n1")
