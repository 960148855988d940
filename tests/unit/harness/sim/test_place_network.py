"""Links of the simulated place are cut and shaped exactly as asked, and healed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import permutations

import pytest

from harness.cluster.capabilities import PacketFault
from harness.cluster.errors import FaultMissedError
from harness.schedule.faults import both_ways
from harness.sim.links import Link as SimLink
from harness.sim.place_network import PlaceNetwork
from harness.sim.simulation import Simulation
from tests.unit.harness.sim.peers import Pair, frame
from tests.unit.harness.sim.places import PATIENCE_S, Placed, connects, on_simulated_nodes


@on_simulated_nodes(3)
async def test_what_is_cut_is_cut_and_all_else_is_reached(placed: Placed) -> None:
    hosts = ("n1", "n2", "n3", "clients")
    everyone = frozenset(permutations(hosts, 2))
    assert placed.network.hosts == hosts
    assert await placed.network.reachable() == everyone
    cut = both_ways(("n1", "n2"), ("n1", "n3"))
    await placed.network.cut(cut)
    assert await placed.network.reachable() == everyone - set(cut)
    for source, target in permutations(placed.cluster.nodes, 2):
        assert await connects(placed, source, target) == ((source, target) not in cut)
    assert await connects(placed, "clients", "n1")
    # Faults add up.
    more = both_ways(("n2", "clients"), ("n1", "n2"))
    await placed.network.cut(more)
    assert await placed.network.reachable() == everyone - {*cut, *more}

    await placed.network.heal()
    assert await placed.network.reachable() == everyone
    assert await connects(placed, "n1", "n2")


def test_a_cut_is_one_way() -> None:
    with Simulation(1) as simulation:
        pair, network = Pair(simulation), PlaceNetwork(simulation, ["a", "b"])

        async def main() -> None:
            await pair.listen()
            await pair.dial()
            assert pair.client.connection is not None
            await asyncio.sleep(PATIENCE_S)
            assert pair.server.connection is not None
            await network.cut([("a", "b")])
            assert await network.reachable() == {("b", "a")}
            pair.client.connection.send([frame(b"from a")])
            pair.server.connection.send([frame(b"from b")])
            await asyncio.sleep(PATIENCE_S)
            assert pair.client.pieces == [frame(b"from b")]
            assert pair.server.pieces == []
            await network.heal()
            await asyncio.sleep(10)
            assert pair.server.pieces == [frame(b"from a")]

        simulation.run(main(), deadline_s=60)


@on_simulated_nodes(1)
async def test_a_slow_link_is_slow_one_way(placed: Placed) -> None:
    async def asked_s() -> float:
        begun_s = placed.simulation.now_s
        await placed.cluster.controller()
        return placed.simulation.now_s - begun_s

    late = PacketFault(delay_ms=300.0)
    assert await asked_s() < 0.1
    await placed.network.shape([("control", "n1")], late)
    # There and not back: once to connect, then for each request.
    slowed_s = await asked_s()
    assert slowed_s > 0.9
    # A second fault takes the place of the first.
    await placed.network.shape([("control", "n1")], late)
    assert await asked_s() < slowed_s + 0.1
    await placed.network.shape([("n1", "control")], late)
    assert await asked_s() > slowed_s + 0.5
    await placed.network.heal()
    assert await asked_s() < 0.1


def transits_s(fault: PacketFault, sizes: Sequence[int]) -> list[float]:
    """How long messages of these sizes take, all sent at once."""
    with Simulation(1) as simulation:
        network = PlaceNetwork(simulation, ["a", "b"])

        async def main() -> list[float]:
            await network.shape([("a", "b")], fault)
            await asyncio.sleep(1)
            taken = await asyncio.gather(*(network._transit_s(("a", "b"), size) for size in sizes))
            return [each for each in taken if each is not None]

        return simulation.run(main(), deadline_s=60)


def test_packets_are_late_lost_and_out_of_order_as_often_as_was_asked() -> None:
    jittery = transits_s(PacketFault(delay_ms=100.0, jitter_ms=50.0), [0] * 500)
    assert 0.05 <= min(jittery) < 0.06
    assert sum(jittery) / 500 == pytest.approx(0.1, abs=0.01)
    for fault in (PacketFault(loss=0.2), PacketFault(corrupt=0.2)):
        retried = [each for each in transits_s(fault, [0] * 500) if each >= 0.2]
        assert 50 < len(retried) < 150
    overtaking = transits_s(PacketFault(delay_ms=100.0, reorder=0.25), [0] * 500)
    assert 75 < len([each for each in overtaking if each < 0.1]) < 175
    slow = transits_s(PacketFault(bytes_per_s=1000.0), [500] * 4)
    assert slow == pytest.approx([0.5, 1.0, 1.5, 2.0], abs=0.01)


@on_simulated_nodes(2)
async def test_a_link_that_cannot_be_broken_is_told_of(placed: Placed) -> None:
    with pytest.raises(FaultMissedError, match="still open: n1 > n1"):
        await placed.network.cut([("n1", "n1")])
    twice, overtaking = PacketFault(duplicate=0.1), PacketFault(reorder=0.1)
    assert placed.network.why_not(PacketFault(loss=0.1)) is None
    assert "packet twice" in str(placed.network.why_not(twice))
    for impossible in (twice, overtaking):
        with pytest.raises(FaultMissedError):
            await placed.network.shape([("n1", "n2")], impossible)
    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(SimLink, "cut", lambda _: None)
        with pytest.raises(FaultMissedError, match="still open: n1 > n2, n2 > n1"):
            await placed.network.cut([("n2", "n1"), ("n1", "n2")])
        sabotage.setattr(SimLink, "slow_down", lambda *_: None)
        for fault, told in (
            (PacketFault(delay_ms=1000.0), "still reaches it within 0"),
            (PacketFault(loss=0.5), "loses none of 20 messages"),
            (PacketFault(bytes_per_s=1000.0), "carries 100 bytes within 0"),
        ):
            with pytest.raises(FaultMissedError, match=f"the link n1 > n2 {told}"):
                await placed.network.shape([("n1", "n2")], fault)
    with pytest.MonkeyPatch.context() as sabotage:
        await placed.network.cut([("n1", "n2")])
        sabotage.setattr(SimLink, "heal", lambda _: None)
        with pytest.raises(FaultMissedError, match="still cut after the healing: n1 > n2"):
            await placed.network.heal()
    placed.simulation.network.link("n1", "n2").heal()


@on_simulated_nodes(2)
async def test_clients_go_by_one_name_wherever_they_live(placed: Placed) -> None:
    for host in ("c1", "c2"):
        assert await connects(placed, host, "n1")
    await placed.network.cut([("clients", "n1")])
    for host in ("c1", "c2", "clients"):
        assert not await connects(placed, host, "n1")
        assert await connects(placed, host, "n2")
    assert ("clients", "n1") not in await placed.network.reachable()
    assert ("n1", "clients") in await placed.network.reachable()
    # Whoever asks about the cluster is no client.
    assert await placed.cluster.controller("n1") is not None
    await placed.network.heal()
    assert await connects(placed, "c2", "n1")
