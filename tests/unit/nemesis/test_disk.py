"""Disks that are full, slow, read-only or broken, and logs that were damaged at rest."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from harness.cluster.capabilities import StoredDamage
from harness.cluster.errors import FaultMissedError, NodeFailedError
from harness.cluster.parts import the
from harness.cluster.waiting import wait_until
from harness.schedule.faults import (
    BitFlip,
    DiskError,
    DiskFull,
    DiskReadOnly,
    DiskSlow,
    Fault,
    TruncatedTail,
)
from harness.sim.disk_faults import DiskFaults as SimDiskFaults
from harness.sim.place_disks import PlaceDisks
from harness.sim.stored_logs import StoredLogs
from nemesis.base import LapsedError, NothingToStrikeError
from nemesis.budget import count_the_mended
from nemesis.disk import DiskFaults
from tests.unit.nemesis.scenes import TOPIC, Stage, a_moment, mend, named, on_stage, strike

SMALL_SEGMENTS = {"segment.bytes": "2000"}
PROOFS = {
    "full": "n2 has 0 bytes of disk left",
    "read-only": "writes on n2 fail with EROFS",
    "slow": "the disk of n2 is slower by",
    "eio": "the disk of n2 fails with EIO",
    "bit-flip": "n2: a bit of t-",
    "truncated-tail": r"bytes were cut off the end of t-",
}


async def test_a_fault_is_known_for_each_variant() -> None:
    assert set(PROOFS) == set(DiskFaults.variants)


@on_stage(3, configs=SMALL_SEGMENTS)
async def test_every_fault_takes_hold_and_heals(stage: Stage) -> None:
    stage.keep_busy()
    await asyncio.sleep(5)
    for number, (variant, wanted) in enumerate(PROOFS.items()):
        text = f"disk:{variant}@n2"
        faults, (proof,) = await strike(stage, text, seed=number)
        assert wanted in proof
        await asyncio.sleep(3)
        await mend(stage, text, faults)
        assert await stage.process.is_running("n2")
        assert await stage.disk.free_bytes("n2") > 0
        await stage.until_in_sync()
        await count_the_mended(stage.scene)
        assert stage.scene.damaged == set()


@on_stage(3)
async def test_where_no_replica_can_be_spared_no_damage_is_drawn(stage: Stage) -> None:
    stage.scene.min_insync_replicas = 3

    async def drawn() -> set[type[Fault]]:
        faults: list[Fault] = []
        for seed in range(40):
            faults += await named("disk@n1").choose(stage.scene, a_moment("disk"), Random(seed))
        return {type(fault) for fault in faults}

    assert await drawn() == {DiskFull, DiskReadOnly, DiskSlow}
    stage.scene.unsafe_faults = True
    assert await drawn() > {BitFlip, TruncatedTail, DiskError}


@on_stage(3, configs=SMALL_SEGMENTS)
async def test_a_segment_that_is_compacted_away_is_not_the_last_one(stage: Stage) -> None:
    stage.keep_busy()
    await asyncio.sleep(5)
    flip_bit, looks = StoredLogs.flip_bit, list[float]()

    def gone_at_first(self: StoredLogs, draw: float) -> StoredDamage | None:
        looks.append(draw)
        return None if len(looks) == 1 else flip_bit(self, draw)

    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(StoredLogs, "flip_bit", gone_at_first)
        _, (proof,) = await strike(stage, "disk:bit-flip@n1")
    assert "was flipped at byte" in proof
    assert len(looks) == 2
    assert await stage.process.is_running("n1")


@on_stage(3, configs=SMALL_SEGMENTS)
async def test_a_flipped_bit_is_gone_when_the_replica_was_copied_anew(stage: Stage) -> None:
    stage.keep_busy()
    await asyncio.sleep(5)
    (disk,) = stage.place.nodes["n1"].disks.values()
    (fault,), (proof,) = await strike(stage, "disk:bit-flip@n1")
    path = proof.split()[4]
    damaged = disk.peek(path, 0, 1 << 30)
    assert damaged is not None
    await mend(stage, "disk:bit-flip@n1", [fault])
    (copy_of,) = stage.place.nodes["n2"].disks.values()
    whole = copy_of.peek(path, 0, 1 << 30)
    assert whole is not None
    assert damaged != whole
    assert sum(a != b for a, b in zip(damaged, whole, strict=False)) >= 1
    mended = disk.peek(path, 0, 1 << 30)
    assert mended is None or whole.startswith(mended) or mended.startswith(whole)


@on_stage(3)
async def test_a_segment_is_closed_where_none_is_yet(stage: Stage) -> None:
    with pytest.raises(NothingToStrikeError, match="n1 has no closed segment to flip a bit in"):
        await strike(stage, "disk:bit-flip@n1")
    stage.keep_busy()
    fault = BitFlip(name="f", at_ms=0.0, node="n1", draw=0.5)
    assert "was flipped at byte" in await named("disk").inject(stage.scene, fault)
    segments = await the(stage.cluster.system.stored).segments(TOPIC, "n1")
    assert max(map(len, segments.values())) > 1
    await named("disk").heal(stage.scene, fault)


@on_stage(3)
async def test_healing_one_disk_leaves_the_others_broken(stage: Stage) -> None:
    full, _ = await strike(stage, "disk:full@n1")
    broken, _ = await strike(stage, "disk:eio@n2")
    await mend(stage, "disk:eio@n2", broken)
    assert await stage.disk.free_bytes("n1") == 0
    assert await stage.process.is_running("n2")
    await mend(stage, "disk:full@n1", full)
    assert await stage.disk.free_bytes("n1") > 0


@on_stage(3)
async def test_healing_a_disk_gives_no_power_to_a_host_that_lost_it(stage: Stage) -> None:
    dark, _ = await strike(stage, "power:n3")
    full, _ = await strike(stage, "disk:full@n1")
    await mend(stage, "disk:full@n1", full)
    assert await stage.disk.free_bytes("n1") > 0
    assert ("n1", "n3") not in await stage.network.reachable()
    await mend(stage, "power:n3", dark)
    assert ("n1", "n3") in await stage.network.reachable()


@on_stage(3)
async def test_a_disk_without_power_is_mended_when_the_power_is_back(stage: Stage) -> None:
    full, _ = await strike(stage, "disk:full@n3")
    dark, _ = await strike(stage, "power:n3")
    with pytest.raises(
        NodeFailedError, match="the disk of n3 cannot be healed: the node has no power"
    ):
        await named("disk").heal(stage.scene, full[0])
    await mend(stage, "power:n3", dark)
    await mend(stage, "disk:full@n3", full)
    assert await stage.disk.free_bytes("n3") > 0


@on_stage(3)
async def test_a_disk_that_another_ones_healing_mends_is_told(stage: Stage) -> None:
    faults, _ = await strike(stage, "disk:full@n1")
    await strike(stage, "disk:full@n2", seed=2)

    async def nothing(*_: object) -> None:
        """It says that it was done."""

    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(PlaceDisks, "fill", nothing)
        with pytest.raises(LapsedError, match="disk:full@n2 2/n2 did not stay in force: n2 still"):
            await named("disk").heal(stage.scene, faults[0])
    assert await stage.process.is_running("n1")


@on_stage(5)
async def test_all_disks_of_a_stroke_are_healed_together(stage: Stage) -> None:
    faults, _ = await strike(stage, "disk:full@all")
    assert len(faults) == 5
    await mend(stage, "disk:full@all", faults)
    for node in stage.cluster.nodes:
        assert await stage.disk.free_bytes(node) > 0
        assert await stage.process.is_running(node)


@on_stage(3)
async def test_damage_keeps_its_budget_and_mere_trouble_does_not(stage: Stage) -> None:
    scene = stage.scene
    (only,) = await named("disk:eio@all").choose(scene, a_moment("d"), Random(1))
    assert len(await named("disk:full@all").choose(scene, a_moment("d"), Random(1))) == 3
    scene.in_force[only.name] = only
    await named("disk").inject(scene, only)
    assert scene.damaged == {only.node}  # type: ignore[attr-defined]


@on_stage(3)
async def test_a_disk_that_nobody_broke_is_missed(stage: Stage) -> None:
    async def nothing(_: PlaceDisks, node: str) -> None:
        """It says that it was done."""

    stage.scene.unsafe_faults = True
    with pytest.MonkeyPatch.context() as sabotage:
        for method in ("fill", "slow", "fail", "make_read_only"):
            sabotage.setattr(SimDiskFaults, method, lambda *_: None)
        for variant in ("full", "slow", "eio", "read-only"):
            with pytest.raises(FaultMissedError, match=r"n1 (still has|has an answer)"):
                await strike(stage, f"disk:{variant}@n1")
    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(PlaceDisks, "fill", nothing)
        with pytest.raises(FaultMissedError, match="n1 still has"):
            await strike(stage, "disk:full@n1", seed=2)


@on_stage(3, configs=SMALL_SEGMENTS)
async def test_damage_that_damages_nothing_is_missed(stage: Stage) -> None:
    stage.keep_busy()
    await asyncio.sleep(5)
    stage.scene.unsafe_faults = True
    faults: list[Fault] = [
        BitFlip(name="b", at_ms=0.0, node="n1", draw=0.5),
        TruncatedTail(name="t", at_ms=0.0, node="n1", draw=0.5),
    ]
    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(StoredLogs, "flip_bit", lambda *_: None)
        sabotage.setattr(StoredLogs, "truncate_tail", lambda *_: None)
        for fault in faults:
            with pytest.raises(FaultMissedError, match="n1 has stored nothing yet"):
                await named("disk").inject(stage.scene, fault)
            await named("disk").heal(stage.scene, fault)
            assert await stage.process.is_running("n1")


@on_stage(3)
async def test_the_last_one_that_has_everything_keeps_its_tail(stage: Stage) -> None:
    await stage.process.kill("n3")

    async def is_out() -> bool:
        return all("n3" not in one.isr for one in await stage.cluster.partitions(TOPIC))

    await wait_until(is_out, within_s=30, what="n3 is out of the ISR")
    fault = TruncatedTail(name="t", at_ms=0.0, node="n1", draw=0.5)
    with pytest.raises(
        NothingToStrikeError, match="n1 cannot be taken down: too few other replicas are in sync"
    ):
        await named("disk").inject(stage.scene, fault)
    assert await stage.process.is_running("n1")


@on_stage(3)
async def test_healing_before_the_deed_is_safe(stage: Stage) -> None:
    slow = DiskSlow(name="s", at_ms=0.0, node="n1", extra_ms=10.0)
    cut = TruncatedTail(name="t", at_ms=0.0, node="n1", draw=0.5)
    for fault in (slow, cut):
        await named("disk").heal(stage.scene, fault)
    assert await stage.process.is_running("n1")
