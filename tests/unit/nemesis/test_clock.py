"""Wall clocks that are wrong in three ways, and right again afterwards."""

from __future__ import annotations

import asyncio

import pytest

from harness.cluster.errors import FaultMissedError
from harness.schedule.faults import ClockJump, ClockSkew, ClockStrobe, Fault
from harness.sim.clock import SimClock
from harness.sim.place_clocks import PlaceClocks
from nemesis.base import LapsedError
from tests.unit.nemesis.scenes import Stage, mend, named, on_stage, strike


@on_stage(3)
async def test_clocks_jump_run_and_flicker_and_are_right_again(stage: Stage) -> None:
    for seed in range(5):
        faults, proofs = await strike(stage, "clock:jump@all", seed=seed)
        for fault, proof in zip(faults, proofs, strict=True):
            assert isinstance(fault, ClockJump)
            assert await stage.clock.offset_s(fault.node) == pytest.approx(fault.by_ms / 1000)
            assert proof == f"the clock of {fault.node} moved by {fault.by_ms / 1000:+.3f} s"
        await mend(stage, "clock:jump@all", faults)
        (skew,), (proof,) = await strike(stage, "clock:skew@n2", seed=seed)
        assert isinstance(skew, ClockSkew)
        assert proof == f"the clock of n2 gained {skew.rate - 1:+.3f} s in 1.000 s"
        await mend(stage, "clock:skew@n2", [skew])
        for node in stage.cluster.nodes:
            assert await stage.clock.offset_s(node) == pytest.approx(0, abs=1e-4)


@on_stage(3)
async def test_a_strobe_goes_to_and_fro_until_it_is_ended(stage: Stage) -> None:
    (fault,), (proof,) = await strike(stage, "clock:strobe@n1")
    assert isinstance(fault, ClockStrobe)
    assert proof.endswith(f"and moves back and forth every {fault.period_ms:g} ms")
    seen = set()
    for _ in range(40):
        await asyncio.sleep(fault.period_ms / 1000 / 2)
        seen.add(round(await stage.clock.offset_s("n1"), 1))
    assert seen == {0.0, round(fault.by_ms / 1000, 1)}
    await mend(stage, "clock:strobe@n1", [fault])
    await asyncio.sleep(10)
    assert await stage.clock.offset_s("n1") == pytest.approx(0, abs=1e-4)


@on_stage(3)
async def test_healing_one_clock_leaves_the_others_wrong(stage: Stage) -> None:
    ahead, _ = await strike(stage, "clock:jump@n1")
    fast, _ = await strike(stage, "clock:skew@n2")
    await mend(stage, "clock:skew@n2", fast)
    assert isinstance(ahead[0], ClockJump)
    assert await stage.clock.offset_s("n1") == pytest.approx(ahead[0].by_ms / 1000)
    await mend(stage, "clock:jump@n1", ahead)
    assert await stage.clock.offset_s("n1") == pytest.approx(0, abs=1e-4)


@on_stage(3)
async def test_a_clock_that_nobody_moved_is_missed(stage: Stage) -> None:
    async def nothing(_: PlaceClocks, node: str, by: float) -> None:
        """It says that it was done."""

    faults: list[Fault] = [
        ClockJump(name="j", at_ms=0.0, node="n1", by_ms=500.0),
        ClockStrobe(name="s", at_ms=0.0, node="n1", by_ms=500.0, period_ms=200.0),
        ClockSkew(name="r", at_ms=0.0, node="n1", rate=2.0),
    ]
    for capability, methods in ((SimClock, ("jump", "run_at")), (PlaceClocks, ("jump", "skew"))):
        with pytest.MonkeyPatch.context() as sabotage:
            for method in methods:
                does = nothing if capability is PlaceClocks else (lambda *_: None)
                sabotage.setattr(capability, method, does)
            for fault in faults:
                with pytest.raises(FaultMissedError, match=r"the clock of n1 (moved|gained)"):
                    await named("clock").inject(stage.scene, fault)


@on_stage(3)
async def test_a_strobe_that_ends_by_itself_is_told_when_it_is_healed(stage: Stage) -> None:
    (fault,), _ = await strike(stage, "clock:strobe@n1")
    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(SimClock, "jump", lambda *_: None)
        await asyncio.sleep(5)
    with pytest.raises(LapsedError, match="the strobe of the clock of n1 ended early: "):
        await stage.nemesis("clock:strobe@n1").heal(stage.scene, fault)
    assert await stage.clock.offset_s("n1") == pytest.approx(0, abs=1e-4)
