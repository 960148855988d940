"""compact and retention: what brokers do with old records, done now."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from harness.cluster.errors import FaultMissedError
from harness.cluster.parts import the
from harness.schedule.faults import CompactNow, DeleteRecords
from harness.sim.sim_broker import SimBroker
from nemesis.base import NothingToStrikeError
from tests.unit.nemesis.scenes import TOPIC, Stage, a_moment, mend, named, on_stage, strike

COMPACTED = {"cleanup.policy": "compact", "segment.ms": "3600000"}
OFTEN = {"cleanup.policy": "compact", "segment.ms": "2000", "min.cleanable.dirty.ratio": "0.01"}


# compact


@on_stage(3, configs=COMPACTED)
async def test_a_compacted_topic_is_compacted_now(stage: Stage) -> None:
    stage.keep_busy()
    await asyncio.sleep(10)
    before = await the(stage.cluster.system.stored).segments(TOPIC, "n1")
    assert max(map(len, before.values())) == 1
    (fault,), (proof,) = await strike(stage, "compact")
    assert fault == CompactNow(name="compact 1", at_ms=0.0, for_ms=5000.0, topic=TOPIC)
    assert proof.startswith("t-")
    assert "shrank from" in proof
    assert proof.endswith("none had shrunk for 7 s before the compaction was requested")
    await mend(stage, "compact", [fault])
    await asyncio.sleep(2)

    async def is_rolled() -> int:
        return sum(
            map(len, (await the(stage.cluster.system.stored).segments(TOPIC, "n1")).values())
        )

    rolled = await is_rolled()
    await asyncio.sleep(10)
    # The topic's own setting is back: nothing is rolled any more.
    assert await is_rolled() <= rolled


@on_stage(3, configs=COMPACTED)
async def test_a_compaction_that_compacts_nothing_is_missed(stage: Stage) -> None:
    stage.keep_busy()
    await asyncio.sleep(3)

    async def nothing(*_: object) -> None:
        """It says that it was done."""

    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(SimBroker, "alter_topic", nothing)
        with pytest.raises(FaultMissedError, match="no log of t shrank"):
            await strike(stage, "compact")


@pytest.mark.parametrize("written_s", [0.5, 10.0])
def test_what_nobody_writes_to_any_more_is_not_there_to_be_compacted(written_s: float) -> None:
    """Of a broker that rolls a log when it is written to; who had time to is held to the word."""

    @on_stage(3, configs=COMPACTED)
    async def at_the_end_of_a_load(stage: Stage) -> None:
        client = stage.keep_busy()
        await asyncio.sleep(3)
        alter = SimBroker.alter_topic

        async def without_hurry(
            system: SimBroker, topic: str, configs: dict[str, str | None]
        ) -> None:
            """Longer than the writing goes on, so that nothing is rolled."""
            slow = {"segment.ms": "3600000", "max.compaction.lag.ms": None}
            await alter(system, topic, {**configs, **slow})
            if "segment.ms" in configs:
                asyncio.get_running_loop().call_later(written_s, client.kill)

        is_over = written_s < 3
        with pytest.MonkeyPatch.context() as sabotage:
            sabotage.setattr(SimBroker, "alter_topic", without_hurry)
            said = "no write to t came later than 3 s after" if is_over else "no log of t shrank"
            with pytest.raises(NothingToStrikeError if is_over else FaultMissedError, match=said):
                await strike(stage, "compact")

    at_the_end_of_a_load()


@on_stage(3, configs=OFTEN)
async def test_a_topic_that_compacts_itself_is_no_proof(stage: Stage) -> None:
    """Neither while it does so all the time, nor if it stands still and is never told to hurry."""
    stage.keep_busy()
    await asyncio.sleep(10)
    alter = SimBroker.alter_topic

    async def nothing(*_: object) -> None:
        """It says that it was done."""

    async def only_wait(system: SimBroker, topic: str, configs: dict[str, str | None]) -> None:
        if "segment.ms" not in configs:
            await alter(system, topic, configs)

    for sabotaged, said in (
        (nothing, "although min.compaction.lag.ms forbids it"),
        (only_wait, "shrank"),
    ):
        with pytest.MonkeyPatch.context() as sabotage:
            sabotage.setattr(SimBroker, "alter_topic", sabotaged)
            with pytest.raises(FaultMissedError, match=said):
                await strike(stage, "compact")
        stage.scene.in_force.clear()
        stage.scene.accompanied.clear()
    (fault,), (proof,) = await strike(stage, "compact")
    assert "none had shrunk for 4 s before" in proof
    await mend(stage, "compact", [fault])


@on_stage(3)
async def test_only_compacted_topics_are_compacted(stage: Stage) -> None:
    with pytest.raises(NothingToStrikeError, match="the workload has no compacted topic"):
        await named("compact").choose(stage.scene, a_moment("c"), Random(1))


# retention


@on_stage(3)
async def test_only_what_was_read_is_deleted(stage: Stage) -> None:
    with pytest.raises(NothingToStrikeError, match="no stored record has been read yet"):
        await named("retention").choose(stage.scene, a_moment("r"), Random(1))
    stage.keep_busy()
    await asyncio.sleep(10)
    stage.scene.read_to = lambda: {"t-0": 20}
    (fault,), (proof,) = await strike(stage, "retention")
    assert isinstance(fault, DeleteRecords)
    assert list(fault.before) == ["0"]
    assert 0 < fault.before["0"] <= 20
    assert proof == f"t-0 begins at offset {fault.before['0']}, before at 0"
    assert await the(stage.cluster.system.retention).log_starts(TOPIC) == {
        0: fault.before["0"],
        1: 0,
    }
    await mend(stage, "retention", [fault])
    # Twice is once: what is gone already is not this deed's doing.
    with pytest.raises(
        NothingToStrikeError, match="the logs of t already begin at these offsets or later"
    ):
        await named("retention").inject(stage.scene, fault)
    # Played again in a run whose clients are not so far, it does nothing.
    further = DeleteRecords(name="r", at_ms=0.0, topic=TOPIC, before={"0": 21})
    with pytest.raises(NothingToStrikeError, match="t-0 has not been read up to offset 21"):
        await named("retention").inject(stage.scene, further)


@on_stage(3)
async def test_a_deletion_that_deletes_nothing_is_missed(stage: Stage) -> None:
    stage.keep_busy()
    await asyncio.sleep(5)
    stage.scene.read_to = lambda: {"t-0": 10}

    async def nothing(*_: object) -> None:
        """It says that it was done."""

    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(SimBroker, "delete_records", nothing)
        with pytest.raises(FaultMissedError, match=r"t-0 still begins at offset 0, not at \d+"):
            await strike(stage, "retention")


@on_stage(3)
async def test_what_the_topic_deletes_by_itself_is_no_proof(stage: Stage) -> None:
    stage.keep_busy()
    await asyncio.sleep(5)
    stage.scene.read_to = lambda: {"t-0": 10}
    delete = SimBroker.delete_records

    async def too_much(system: SimBroker, topic: str, before: dict[int, int]) -> None:
        await delete(system, topic, {index: offset + 5 for index, offset in before.items()})

    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(SimBroker, "delete_records", too_much)
        with pytest.raises(FaultMissedError, match=r"t-0 begins at offset \d+, not at \d+"):
            await strike(stage, "retention")


@on_stage(3, configs=COMPACTED)
async def test_compacted_topics_keep_what_they_have(stage: Stage) -> None:
    stage.scene.read_to = lambda: {"t-0": 10}
    with pytest.raises(NothingToStrikeError, match="only compacted topics"):
        await named("retention").choose(stage.scene, a_moment("r"), Random(1))
