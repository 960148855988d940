"""Single messages are met, or the fault has proved nothing."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from harness.cluster.errors import FaultMissedError
from harness.schedule.faults import Kill, TamperMessages
from harness.wire.match import MessageFaults
from nemesis.base import NothingToStrikeError
from nemesis.wire import WireFaults
from tests.unit.nemesis.scenes import Stage, mend, named, on_stage, strike


@on_stage(3)
async def test_every_action_meets_a_message(stage: Stage) -> None:
    stage.keep_busy()
    for number, variant in enumerate(WireFaults.variants):
        text = f"wire:{variant}"
        (fault,), (proof,) = await strike(stage, text, seed=number)
        assert isinstance(fault, TamperMessages)
        assert fault.action["kind"] == variant
        assert "messages hit: " in proof
        assert proof.endswith(f"{fault.match['direction']}, {variant})")
        assert await stage.wire.hits(fault.name) > 0
        await mend(stage, text, [fault])


@on_stage(3)
async def test_answers_to_late_requests_are_told_when_they_are_healed(stage: Stage) -> None:
    stage.keep_busy()
    told: list[Any] = []
    stage.scene.on_answers = lambda fault, answers: told.append((fault.name, dict(answers)))
    late = TamperMessages(
        name="late",
        at_ms=0.0,
        for_ms=5000.0,
        match={"api": "Produce", "direction": "request"},
        action={"kind": "delay", "seconds": 0.5},
    )
    await WireFaults().inject(stage.scene, late)
    await asyncio.sleep(2)
    await WireFaults().heal(stage.scene, late)
    assert told == [("late", {"NONE": 1})]
    await WireFaults().heal(stage.scene, replace(late, name="never injected"))
    assert len(told) == 1


@on_stage(3)
async def test_the_last_of_several_ends_them_all(stage: Stage) -> None:
    stage.keep_busy()
    first, _ = await strike(stage, "wire:delay", seed=1)
    second, _ = await strike(stage, "wire:drop", seed=2)
    await mend(stage, "wire:delay", first)
    faults = stage.simulation.network.message_faults
    assert faults is not None
    assert len(faults._in_force) == 2
    await mend(stage, "wire:drop", second)
    assert faults._in_force == {}


@on_stage(3)
async def test_a_fault_that_no_message_meets_is_missed(stage: Stage) -> None:
    """Nobody is at work here, so no Produce comes by."""
    with pytest.raises(
        FaultMissedError,
        match=r"no message was hit \(Produce reply, error\): timed out after 5 s",
    ):
        await strike(stage, "wire:error")
    stage.scene.in_force.clear()
    stage.keep_busy()
    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(MessageFaults, "add", lambda *_: None)
        sabotage.setattr(MessageFaults, "hits", lambda *_: 0)
        with pytest.raises(FaultMissedError, match=r"no message was hit \(Produce"):
            await strike(stage, "wire:error", seed=2)
    stage.scene.in_force.clear()
    # Beside another fault that may have kept the messages away, nothing was struck.
    stage.scene.begin(Kill(name="kill", at_ms=0.0, node="n1"))
    never = TamperMessages(
        name="never", at_ms=0.0, for_ms=2000.0, match={"api": "EndTxn"}, action={"kind": "drop"}
    )
    stage.scene.begin(never)
    with pytest.raises(NothingToStrikeError, match="while another fault was in force"):
        await named("wire").inject(stage.scene, never)
