"""Links that are slow, lossy or narrow, and still links."""

from __future__ import annotations

from itertools import permutations

import pytest

from harness.cluster.errors import FaultMissedError
from harness.schedule.faults import ShapeLinks
from harness.sim.links import Link as SimLink
from nemesis.packet import Packets
from tests.unit.nemesis.scenes import Stage, mend, named, on_stage, strike

SHOWN = {
    "delay": "delay 50 ms",
    "jitter": "delay 50 ms, jitter 40 ms",
    "loss": "loss 20%",
    "reorder": "delay 50 ms, reorder 20%",
    "corrupt": "corrupt 5%",
    "rate": "rate 125,000 bytes/s",
}


async def transit_s(stage: Stage, source: str, target: str) -> float:
    begun_s = stage.simulation.now_s
    await stage.place.network._transit_s((source, target))  # type: ignore[union-attr]
    return stage.simulation.now_s - begun_s


@on_stage(3)
async def test_every_form_takes_hold_and_heals(stage: Stage) -> None:
    everyone = await stage.network.reachable()
    for variant, shown in SHOWN.items():
        text = f"packet:{variant}@n2"
        (fault,), (proof,) = await strike(stage, text)
        assert isinstance(fault, ShapeLinks)
        assert set(fault.links) == {link for link in everyone if "n2" in link}
        assert proof == f"measured on 6 links: {shown}"
        assert await stage.network.reachable() == everyone
        await mend(stage, text, [fault])
        assert await transit_s(stage, "n1", "n2") < 0.02


@on_stage(5)
async def test_regions_are_as_far_apart_as_they_are(stage: Stage) -> None:
    faults, proofs = await strike(stage, "packet:regions")
    assert [fault.name.partition("/")[2] for fault in faults] == [
        "us-east-us-west",
        "eu-us-east",
        "eu-us-west",
    ]
    assert [proof.partition("delay ")[2].partition(" ms")[0] for proof in proofs] == [
        "30", "40", "70",
    ]  # fmt: skip
    shaped = [link for fault in faults if isinstance(fault, ShapeLinks) for link in fault.links]
    # Six hosts, two in each region: each is as near as ever to one other.
    assert len(shaped) == len(set(shaped)) == 6 * 4
    assert set(shaped) < set(permutations(stage.network.hosts, 2))
    # Healing one of them leaves the others.
    first, second, third = faults
    assert isinstance(second, ShapeLinks)
    await mend(stage, "packet:regions", [first])
    assert await transit_s(stage, *second.links[0]) > 0.03
    await mend(stage, "packet:regions", [second, third])
    assert await transit_s(stage, *second.links[0]) < 0.02


@on_stage(3)
async def test_a_shape_that_changes_nothing_is_missed(stage: Stage) -> None:
    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(SimLink, "slow_down", lambda *_: None)
        for number, variant in enumerate(("delay", "jitter", "loss", "corrupt", "rate")):
            with pytest.raises(FaultMissedError, match="the link"):
                await strike(stage, f"packet:{variant}@n2", seed=number)


@on_stage(3)
async def test_what_the_links_cannot_show_is_said_and_not_drawn(stage: Stage) -> None:
    reason = named("packet:duplicate").why_not(stage.cluster)
    assert reason == "simulated connections are TCP's, which lets nobody see a packet twice"
    assert named("packet").why_not(stage.cluster) is None
    for seed in range(40):
        faults, _ = await strike(stage, "packet", seed=seed)
        assert all(isinstance(each, ShapeLinks) and not each.duplicate for each in faults)
        await mend(stage, "packet", faults)
    assert set(Packets.variants) == {*SHOWN, "duplicate", "regions"}
