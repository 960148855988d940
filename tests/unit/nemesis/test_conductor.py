"""The conductor: strikes at its moments, tells what became of it, and leaves nothing broken."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pytest

from harness.cluster.errors import (
    FaultMissedError,
    NoAnswerError,
    NodeFailedError,
    NotInTimeError,
    RefusedError,
)
from harness.decisions import Decisions
from harness.doubts import Doubt, sentence_of
from harness.schedule.faults import Cut, Fault, Kill, Pause, PowerLoss, both_ways
from harness.schedule.schedule import Schedule
from harness.sim.links import Link as SimLink
from harness.sim.place_network import PlaceNetwork
from harness.sim.sim_broker import SimBroker
from nemesis import parse
from nemesis.base import Scene
from nemesis.conductor import Conductor
from nemesis.kill import Kills
from nemesis.outcomes import FaultOutcome, doubts_about
from nemesis.pause import Pauses
from nemesis.plan import draw
from tests.unit.nemesis.scenes import Stage, a_moment, on_stage


def worded(doubts: Sequence[Doubt]) -> list[str]:
    return [sentence_of(doubt) for doubt in doubts]


def conductor_of(stage: Stage, text: str, seed: int = 7) -> Conductor:
    def note(f: str, value: Any) -> None:
        stage.notes.append((f, value))

    return Conductor(stage.scene, parse(text), Decisions(seed), note)


async def is_whole(stage: Stage) -> bool:
    nodes = stage.cluster.nodes
    links = set(permutations(stage.network.hosts, 2))
    return (
        await stage.network.reachable() == links
        and all([await stage.process.is_running(node) for node in nodes])
        and not any([await stage.process.is_paused(node) for node in nodes])
        and max([abs(await stage.clock.offset_s(node)) for node in nodes]) < 0.01
        and min([await stage.disk.free_bytes(node) for node in nodes]) > 0
    )


@on_stage(3)
async def test_each_deed_is_written_down_before_and_after(stage: Stage) -> None:
    conductor = conductor_of(stage, "kill:n2")
    begun_s = stage.simulation.now_s
    striking = asyncio.create_task(
        conductor.strike([a_moment("kill:n2", at_ms=2000.0, for_ms=3000.0)])
    )
    await asyncio.sleep(3)
    assert conductor.in_force() == ("kill:n2 1/n2: the process of n2 has ended",)
    assert conductor.marks() == {"n1": "up", "n2": "down", "n3": "up"}
    await striking
    assert conductor.in_force() == ()
    assert stage.notes == [
        (
            "start-kill",
            {
                "kind": "kill",
                "name": "kill:n2 1/n2",
                "at_ms": 2000.0,
                "for_ms": 3000.0,
                "node": "n2",
            },
        ),
        ("start-kill", {"fault": "kill:n2 1/n2", "proof": "the process of n2 has ended"}),
        ("stop-kill", {"fault": "kill:n2 1/n2"}),
        ("stop-kill", {"fault": "kill:n2 1/n2", "healed": True}),
    ]
    (outcome,) = conductor.outcomes
    assert outcome.began_ms == 2000.0
    assert outcome.healed_ms is not None
    assert 5000.0 <= outcome.healed_ms < 8000.0
    assert stage.simulation.now_s - begun_s == pytest.approx(outcome.healed_ms / 1000, abs=0.01)
    assert worded(conductor.doubts) == []
    (told,) = conductor.told()
    assert told["proof"] == "the process of n2 has ended"
    assert "missed" not in told
    assert await is_whole(stage)


@on_stage(3)
async def test_a_mix_is_carried_out_stored_and_played_again(stage: Stage) -> None:
    stage.keep_busy()
    text = "partition,kill,pause,clock,packet,power,disk:full,move"
    conductor = conductor_of(stage, text)
    moments = draw(Decisions(3), conductor.available, length_ms=30_000, interval_ms=8_000)
    await conductor.strike(moments)
    await conductor.heal_all()
    assert worded(conductor.doubts) == []
    assert await is_whole(stage)
    assert len({type(fault) for fault in conductor.faults}) >= 4
    schedule = Schedule(seed=7, nodes=3, faults=conductor.faults)
    assert Schedule.of_text(schedule.text()) == schedule

    await stage.until_in_sync()
    again = conductor_of(stage, "none")
    await again.play(schedule.faults)
    await again.heal_all()
    assert sorted(fault.name for fault in again.faults) == sorted(
        fault.name for fault in conductor.faults
    )
    begins = {one.fault.name: one.began_ms for one in again.outcomes if one.fault is not None}
    for fault in schedule.faults:
        assert begins[fault.name] == pytest.approx(fault.at_ms, abs=1)
    assert [one.missed for one in again.outcomes if one.missed] == []
    assert await is_whole(stage)


@on_stage(3)
async def test_a_fault_that_misses_is_a_doubt_and_is_healed_all_the_same(stage: Stage) -> None:
    conductor = conductor_of(stage, "partition:single@n1")
    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(SimLink, "cut", lambda _: None)
        await conductor.strike([a_moment("partition:single@n1")])
    (doubt,) = worded(conductor.doubts)
    assert doubt.startswith("partition:single@n1 1 did not take hold: still open: n1 > n2")
    assert stage.scene.in_force == {}
    assert [f for f, _ in stage.notes] == ["start-partition"] * 2 + ["stop-partition"] * 2
    assert "missed" in stage.notes[1][1]


@on_stage(3)
async def test_a_partition_that_ended_with_another_one_is_a_doubt(stage: Stage) -> None:
    """Though both took hold, and both are healed in the end."""
    cut = PlaceNetwork.cut
    done: list[None] = []

    async def no_third_time(network: PlaceNetwork, links: list[tuple[str, str]]) -> None:
        done.append(None)
        if len(done) < 3:
            await cut(network, links)

    conductor = conductor_of(stage, "partition")
    first = Cut(name="first", at_ms=0.0, for_ms=2000.0, links=both_ways(("n1", "n2")))
    second = Cut(name="second", at_ms=0.0, for_ms=5000.0, links=both_ways(("n1", "n3")))
    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(PlaceNetwork, "cut", no_third_time)
        await conductor.play([first, second])
    await conductor.heal_all()
    (doubt,) = worded(conductor.doubts)
    said = "while first was healed: second did not stay in force: measured reachability"
    assert doubt.startswith(said)
    assert await is_whole(stage)


@on_stage(3)
async def test_a_played_run_has_its_budget_of_damage_too(stage: Stage) -> None:
    faults = [
        PowerLoss(name=f"power {node}", at_ms=at_ms, for_ms=5000.0, node=node)
        for node, at_ms in (("n1", 0.0), ("n2", 1000.0))
    ]
    conductor = conductor_of(stage, "none")
    await conductor.play(faults)
    first, second = conductor.outcomes
    assert first.proof
    assert second.skipped == "no further replica may be damaged before n1 is back in every ISR"
    # What was not done stays in the schedule: it may be affordable the next time.
    assert conductor.faults == tuple(faults)
    await conductor.heal_all()
    await stage.until_in_sync()

    stage.scene.unsafe_faults = True
    again = conductor_of(stage, "none")
    await again.play(faults)
    assert all(each.proof for each in again.outcomes)
    await again.heal_all()


@on_stage(3)
async def test_a_nemesis_that_never_struck_is_a_doubt(stage: Stage) -> None:
    conductor = conductor_of(stage, "kill:n7,pause:n1")
    await conductor.strike([a_moment("kill:n7"), a_moment("pause:n1", for_ms=100.0)])
    reason = "unknown node n7; the nodes are n1, n2, n3"
    assert worded(conductor.doubts) == [f"kill:n7 injected no fault: {reason}"]
    skipped = {"moment": "kill:n7 1", "skipped": reason}
    assert ("start-kill", skipped) in stage.notes
    assert len(conductor.faults) == 1


def test_who_asks_for_all_takes_what_there_is() -> None:
    struck = FaultOutcome(nemesis="kill", moment="kill 1", proof="gone")
    skipped = FaultOutcome(nemesis="compact", moment="compact 1", skipped="no compacted topic")
    missed = FaultOutcome(nemesis="pause", moment="pause 1", missed="it goes on")
    said = ["compact injected no fault: no compacted topic"]
    assert worded(doubts_about([struck, skipped])) == said
    assert worded(doubts_about([struck, skipped], is_all=True)) == []
    assert worded(doubts_about([skipped], is_all=True)) == said
    assert worded(doubts_about([struck, missed], is_all=True)) == [
        "pause 1 did not take hold: it goes on"
    ]
    # Another fault may have been in the way, every time.
    hindered = FaultOutcome(nemesis="move", moment="move 1", skipped="no answer", was_alone=False)
    assert worded(doubts_about([struck, hindered])) == []
    assert worded(doubts_about([hindered])) == ["move injected no fault: no answer"]


@on_stage(3)
async def test_what_a_cluster_cannot_show_is_named_before(stage: Stage) -> None:
    conductor = conductor_of(stage, "kill,packet:duplicate")
    assert [each.name for each in conductor.available] == ["kill"]
    assert list(conductor.unavailable) == ["packet:duplicate"]
    await conductor.strike([a_moment("packet:duplicate")])
    refused, undrawn = worded(conductor.doubts)
    assert refused.startswith("packet:duplicate injected no fault: simulated connections are TCP's")
    assert undrawn.startswith("kill injected no fault: the plan drew no moment for it")


@on_stage(3)
async def test_whatever_interrupts_a_run_all_is_healed(stage: Stage) -> None:
    for cancelled_after_s in (0.0, 0.0001, 0.5, 1.05, 3.0):
        conductor = conductor_of(stage, "partition:halves,kill:n1,pause:n2,clock:strobe@n3")
        names = [each.name for each in conductor.available]
        moments = [a_moment(name, at_ms=number * 0.1) for number, name in enumerate(names)]
        striking = asyncio.create_task(conductor.strike(moments))
        await asyncio.sleep(cancelled_after_s)
        striking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await striking
        await conductor.heal_all()
        assert stage.scene.in_force == {}
        # What was broken off may not have struck; all the same it is healed.
        assert all(" injected no fault: " in doubt for doubt in worded(conductor.doubts))
        assert await is_whole(stage)
        await conductor.heal_all()


@on_stage(3)
async def test_healing_also_ends_what_nobody_wrote_down(stage: Stage) -> None:
    await stage.network.cut([("n1", "n2")])
    await stage.process.pause("n2")
    await stage.process.kill("n3")
    await stage.disk.fill("n1")
    await stage.clock.jump("n1", 5.0)
    conductor = conductor_of(stage, "none")
    await conductor.heal_all()
    assert worded(conductor.doubts) == []
    assert await is_whole(stage)


@on_stage(3)
async def test_what_cannot_be_healed_is_tried_again_and_then_a_doubt(stage: Stage) -> None:
    conductor = conductor_of(stage, "kill:n1")

    async def refuses(_: SimBroker, node: str) -> None:
        raise NodeFailedError(f"{node} refuses")

    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(SimBroker, "start", refuses)
        await conductor.strike([a_moment("kill:n1")])
        assert conductor.outcomes[0].not_healed == "n1 refuses"
        await conductor.heal_all()
        assert "not healed: n1 refuses" in worded(conductor.doubts)
        assert "not healed: n1 is not running" in worded(conductor.doubts)
        assert "not healed: kill:n1 1/n1: n1 refuses" in worded(conductor.doubts)
    await conductor.heal_all()
    assert worded(conductor.doubts) == []
    assert await is_whole(stage)


@on_stage(3)
async def test_a_mistake_of_ours_is_not_taken_for_a_fault_that_missed(stage: Stage) -> None:
    async def wrong(*_: object) -> str:
        raise ZeroDivisionError("ours")

    conductor = conductor_of(stage, "kill:n1,pause:n2")
    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(Kills, "inject", wrong)
        with pytest.raises(ZeroDivisionError, match="ours"):
            await conductor.strike([a_moment("kill:n1"), a_moment("pause:n2")])
    await conductor.heal_all()
    assert await is_whole(stage)


@on_stage(5)
async def test_marks_tell_the_worst_of_each_node(stage: Stage) -> None:
    scene = stage.scene
    faults: list[Fault] = [
        Kill(name="k", at_ms=0.0, node="n1"),
        Pause(name="p", at_ms=0.0, node="n1"),
        Pause(name="q", at_ms=0.0, node="n2"),
        Cut(name="c", at_ms=0.0, links=both_ways(("n3", "n1"), ("n3", "n2"), ("n3", "n4"))),
        PowerLoss(name="o", at_ms=0.0, node="n4"),
    ]
    scene.in_force |= {fault.name: fault for fault in faults}
    conductor = conductor_of(stage, "none")
    assert conductor.marks() == {
        "n1": "down", "n2": "paused", "n3": "cut off", "n4": "down", "n5": "up",
    }  # fmt: skip
    scene.in_force.clear()


@on_stage(3)
async def test_a_heal_that_fails_because_of_another_fault_waits_for_the_end(stage: Stage) -> None:
    calls = 0

    async def heals_at_last(self: Pauses, scene: Scene, fault: Fault) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise FaultMissedError("not yet")
        assert scene.cluster.process is not None
        await scene.cluster.process.resume("n2")

    conductor = conductor_of(stage, "pause:n2")
    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(Pauses, "heal", heals_at_last)
        await conductor.strike([a_moment("pause:n2")])
        assert list(stage.scene.in_force) == ["pause:n2 1/n2"]
        await conductor.heal_all()
    assert worded(conductor.doubts) == []
    assert calls == 2


def test_one_seed_tells_one_story() -> None:
    def told(seed: int) -> list[Any]:
        stories: list[Any] = []

        @on_stage(3, seed=1)
        async def body(stage: Stage) -> None:
            conductor = conductor_of(stage, "kill,partition,pause", seed=seed)
            moments = draw(
                Decisions(seed), conductor.available, length_ms=20_000, interval_ms=5_000
            )
            await conductor.strike(moments)
            await conductor.heal_all()
            stories.append((conductor.faults, conductor.told(), stage.simulation.trace.digest()))

        body()
        return stories

    assert told(1) == told(1) != told(2)


ANSWERS = (
    RefusedError("t: FENCED_LEADER_EPOCH"),
    NoAnswerError("nobody answered"),
    NotInTimeError("timed out after 3 s"),
    NodeFailedError("n2 is off"),
    OSError(5, "Input/output error"),
    TimeoutError(),
)


@pytest.mark.parametrize("step", ["choose", "inject", "heal"])
def test_whatever_a_broken_cluster_answers_is_told_and_crashes_nothing(step: str) -> None:
    async def struck(stage: Stage, answer: Exception) -> None:
        async def answers(*_: object) -> None:
            raise answer

        conductor = conductor_of(stage, "kill:n2")
        with pytest.MonkeyPatch.context() as sabotage:
            sabotage.setattr(Kills, step, answers)
            await conductor.strike([a_moment("kill:n2")])
        (outcome,) = conductor.outcomes
        said = str(answer) or "TimeoutError"
        assert said in (outcome.skipped, outcome.missed, outcome.not_healed)
        assert step == "heal" or said in " ".join(worded(conductor.doubts))
        await conductor.heal_all()
        assert outcome.not_healed == ""

    @on_stage(3)
    async def story(stage: Stage) -> None:
        for answer in ANSWERS:
            await struck(stage, answer)
        assert await is_whole(stage)

    story()


@on_stage(3)
async def test_a_refused_question_about_logs_is_a_stroke_that_was_skipped(stage: Stage) -> None:
    """As after an election that the asked broker has not heard of."""

    async def log_starts(self: SimBroker, topic: str) -> dict[int, int]:
        raise RefusedError(f"{topic}: FENCED_LEADER_EPOCH")

    conductor = conductor_of(stage, "retention")
    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(SimBroker, "log_starts", log_starts)
        await conductor.strike([a_moment("retention")])
    (doubt,) = worded(conductor.doubts)
    assert "FENCED_LEADER_EPOCH" in doubt
