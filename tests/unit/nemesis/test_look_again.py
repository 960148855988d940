"""A nemesis that finds nothing to strike looks again, and is excused where faults hinder it."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from harness.cluster.errors import NoAnswerError
from harness.doubts import sentence_of
from harness.schedule.faults import Fault
from nemesis.base import Moment, Scene
from nemesis.kill import Kills
from tests.unit.nemesis.scenes import Stage, a_moment, on_stage
from tests.unit.nemesis.test_conductor import conductor_of


@on_stage(3)
async def test_a_nemesis_looks_again_while_there_is_nothing_to_strike_yet(stage: Stage) -> None:
    stage.keep_busy()
    await asyncio.sleep(3)
    begun_s = stage.simulation.now_s

    def read_to() -> dict[str, int]:
        return {"t-0": 3} if stage.simulation.now_s >= begun_s + 2.2 else {}

    stage.scene.read_to = read_to
    conductor = conductor_of(stage, "retention")
    await conductor.strike([a_moment("retention", at_ms=1000.0, for_ms=5000.0)])
    assert conductor.doubts == []
    (fault,) = conductor.faults
    # It begins late and ends when it would have, and so it is stored.
    assert 2200 <= fault.at_ms <= 2800
    assert fault.for_ms == pytest.approx(6000.0 - fault.at_ms)

    stage.scene.read_to = dict
    begun_s = stage.simulation.now_s
    await conductor.strike([a_moment("retention", 2, for_ms=5000.0)])
    assert conductor.outcomes[-1].skipped.startswith("no stored record has been read yet")
    assert 2.0 <= stage.simulation.now_s - begun_s <= 2.6


@pytest.mark.parametrize("is_alone", [True, False])
def test_a_question_that_other_faults_outlast_excuses_a_nemesis(is_alone: bool) -> None:
    """The question begins before the other fault and ends after it."""

    async def asks(*_: object) -> None:
        await asyncio.sleep(4)
        raise NoAnswerError("no controller is known")

    @on_stage(3)
    async def story(stage: Stage) -> None:
        conductor = conductor_of(stage, "kill:controller,pause:n1")
        moments = [a_moment("kill:controller"), a_moment("pause:n1", at_ms=1000.0, for_ms=1000.0)]
        with pytest.MonkeyPatch.context() as sabotage:
            sabotage.setattr(Kills, "choose", asks)
            await conductor.strike(moments[: 1 if is_alone else 2])
        skipped = next(each for each in conductor.outcomes if each.nemesis == "kill:controller")
        assert skipped.skipped == "no controller is known"
        assert skipped.was_alone == is_alone
        doubt = "kill:controller injected no fault: no controller is known"
        assert (doubt in map(sentence_of, conductor.doubts)) == is_alone
        await conductor.heal_all()

    story()


@on_stage(3)
async def test_a_skipped_moment_is_noted_by_the_name_of_its_nemesis_alone(stage: Stage) -> None:
    conductor = conductor_of(stage, "kill@n7")
    await conductor.strike([a_moment("kill@n7", for_ms=100.0)])
    assert [f for f, _ in stage.notes] == ["start-kill"]


@pytest.mark.parametrize(("takes_s", "is_late"), [(2, False), (6, True)])
def test_a_fault_whose_time_is_over_before_it_begins_is_skipped(
    takes_s: int, is_late: bool
) -> None:
    """A machine that is too slow would inject it after the load, and heal it at once."""
    choose = Kills.choose

    async def slowly(self: Kills, scene: Scene, moment: Moment, dice: Random) -> tuple[Fault, ...]:
        await asyncio.sleep(takes_s)
        return await choose(self, scene, moment, dice)

    @on_stage(3)
    async def story(stage: Stage) -> None:
        conductor = conductor_of(stage, "kill:n2")
        with pytest.MonkeyPatch.context() as sabotage:
            sabotage.setattr(Kills, "choose", slowly)
            await conductor.strike([a_moment("kill:n2", at_ms=1000.0, for_ms=5000.0)])
        (outcome,) = conductor.outcomes
        assert bool(outcome.proof) != is_late
        assert stage.scene.in_force == {}
        doubt = "kill:n2 injected no fault: it was due 6.0 s before and would be over"
        assert [*map(sentence_of, conductor.doubts)] == ([doubt] if is_late else [])
        assert [fault.name for fault in conductor.faults] == ["kill:n2 1/n2"]

    story()


@on_stage(3)
async def test_a_short_fault_may_be_late(stage: Stage) -> None:
    conductor = conductor_of(stage, "kill:n2")
    await conductor.strike([a_moment("kill:n2", at_ms=-900.0, for_ms=10.0)])
    assert conductor.doubts == []
