"""Every fault of the simulated place takes hold, is felt by those it is for, and is healed.

A fault that did not happen makes a green run worthless. So each test looks at what a process feels,
not at what the fault was told to do; and a fault whose means are sabotaged says that it missed.
"""

from __future__ import annotations

import asyncio
import errno

import pytest

from harness.cluster.errors import FaultMissedError, NoAnswerError
from harness.errors import EnvironmentFailure
from harness.sim.clock import START_MS, SimClock
from harness.sim.disk_faults import DiskFaults
from harness.sim.loop import SimLoop
from harness.sim.nodes import SimCluster, SimNode
from harness.sim.simulation import Simulation
from harness.wire.match import Delay, Matcher, MessageFault
from tests.unit.harness.sim.places import Placed, connects, create_topic, on_simulated_nodes

# process


@on_simulated_nodes(1)
async def test_a_killed_node_refuses_connections_until_it_is_started(placed: Placed) -> None:
    assert await connects(placed, "c1", "n1")
    await placed.process.kill("n1")
    assert not await placed.process.is_running("n1")
    assert not await connects(placed, "c1", "n1")
    await placed.process.start("n1")
    assert await placed.process.is_running("n1")
    assert await connects(placed, "c1", "n1")


@on_simulated_nodes(1)
async def test_a_paused_node_takes_connections_and_answers_nothing(placed: Placed) -> None:
    await placed.process.pause("n1")
    await placed.process.pause("n1")
    assert await placed.process.is_paused("n1")
    assert await placed.process.is_running("n1")
    assert await connects(placed, "c1", "n1")
    with pytest.raises(NoAnswerError, match="none of n1 answered"):
        await placed.cluster.controller()
    # However often it was paused.
    await placed.process.resume("n1")
    assert not await placed.process.is_paused("n1")
    assert await placed.cluster.controller() == "n1"


@on_simulated_nodes(1)
async def test_a_process_that_cannot_be_broken_is_told_of(placed: Placed) -> None:
    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(SimNode, "kill", lambda _: True)
        with pytest.raises(FaultMissedError, match="n1/1 survives a kill"):
            await placed.process.kill("n1")
        sabotage.setattr(SimLoop, "pause", lambda *_: None)
        with pytest.raises(FaultMissedError, match="n1/1 defies a pause"):
            await placed.process.pause("n1")


# disk


async def write(placed: Placed) -> int:
    """As the broker would: 0, or the number of the error that it meets."""
    (disk,) = placed.place.nodes["n1"].disks.values()
    try:
        await disk.replace("written", b"some bytes")
    except OSError as error:
        return error.errno or -1
    return 0


@on_simulated_nodes(1)
async def test_a_full_disk_takes_no_byte_until_it_is_freed(placed: Placed) -> None:
    assert placed.disk.why_not("fill") is None
    assert await placed.disk.free_bytes("n1") > 0
    await placed.disk.fill("n1")
    assert await placed.disk.free_bytes("n1") == 0
    assert await write(placed) == errno.ENOSPC
    await placed.disk.heal()
    assert await placed.disk.free_bytes("n1") > 0
    assert await write(placed) == 0


@on_simulated_nodes(1)
async def test_a_slow_disk_lets_everybody_wait(placed: Placed) -> None:
    assert placed.disk.why_not("slow") is None

    async def written_s() -> float:
        begun_s = placed.simulation.now_s
        assert await write(placed) == 0
        return placed.simulation.now_s - begun_s

    assert await written_s() < 0.1
    await placed.disk.slow("n1", 0.5)
    assert await written_s() > 0.5
    await placed.disk.heal()
    assert await written_s() < 0.1


@on_simulated_nodes(1)
async def test_a_broken_disk_answers_nothing_but_eio(placed: Placed) -> None:
    assert placed.disk.why_not("fail") is None
    await placed.disk.fail("n1")
    assert await write(placed) == errno.EIO
    with pytest.raises(EnvironmentFailure, match="n1 cannot tell how full its disk is"):
        await placed.disk.free_bytes("n1")
    await placed.disk.heal()
    assert await write(placed) == 0


@on_simulated_nodes(1)
async def test_a_disk_that_cannot_be_broken_is_told_of(placed: Placed) -> None:
    with pytest.MonkeyPatch.context() as sabotage:
        for fault in ("fill", "slow", "fail", "make_read_only"):
            sabotage.setattr(DiskFaults, fault, lambda *_: None)
        with pytest.raises(FaultMissedError, match=r"n1 still has \d+ bytes of disk free"):
            await placed.disk.fill("n1")
        with pytest.raises(FaultMissedError, match="n1 has an answer from its disk in less than"):
            await placed.disk.slow("n1", 1.0)
        with pytest.raises(FaultMissedError, match="n1 still has a disk that works"):
            await placed.disk.fail("n1")
        with pytest.raises(FaultMissedError, match="n1 still has a disk that can be written to"):
            await placed.disk.make_read_only("n1")
        sabotage.setattr(SimNode, "power_loss", lambda _: True)
        with pytest.raises(FaultMissedError, match="n1 still has power"):
            await placed.disk.lose_power("n1")
        for damage in (placed.disk.flip_bit, placed.disk.truncate_tail):
            with pytest.raises(FaultMissedError, match="n1 runs, and its files are not to be"):
                await damage("n1", 0.5)
        await placed.process.kill("n1")
        for damage in (placed.disk.flip_bit, placed.disk.truncate_tail):
            with pytest.raises(FaultMissedError, match="n1 has stored nothing yet"):
                await damage("n1", 0.5)


@on_simulated_nodes(1)
async def test_a_read_only_disk_is_read_and_not_written(placed: Placed) -> None:
    assert placed.disk.why_not("read-only") is None
    await placed.disk.make_read_only("n1")
    assert await write(placed) == errno.EROFS
    assert await placed.disk.free_bytes("n1") > 0
    await placed.disk.heal()
    assert await write(placed) == 0


@on_simulated_nodes(2)
async def test_a_host_without_power_is_gone_and_comes_back_empty_handed(placed: Placed) -> None:
    (disk,) = placed.place.nodes["n1"].disks.values()
    file = await disk.create("unsynced")
    file.append([b"some bytes"])
    await placed.disk.lose_power("n1")
    assert not await placed.process.is_running("n1")
    assert not any("n1" in link for link in await placed.network.reachable())
    # A network that is healed does not wait for a host that is off.
    await placed.network.heal()
    await placed.disk.restore_power("n1")
    await placed.disk.restore_power("n1")
    assert {("n1", "n2"), ("n2", "n1")} <= await placed.network.reachable()
    assert not await placed.process.is_running("n1")
    assert disk.synced_bytes("unsynced") == len(disk.peek("unsynced", 0, 100) or b"")
    await placed.process.start("n1")
    await placed.disk.lose_power("n1")
    await placed.disk.heal()
    assert ("n2", "n1") in await placed.network.reachable()


# clock


@on_simulated_nodes(2)
async def test_a_clock_jumps_runs_and_comes_back_to_true_time(placed: Placed) -> None:
    def shown_s(node: str) -> float:
        """Ahead of true time, by what the broker itself reads."""
        true_ms = START_MS + placed.simulation.now_s * 1000
        return (placed.place.nodes[node].clock.now_ms() - true_ms) / 1000

    await placed.clock.jump("n1", 60.0)
    await placed.clock.jump("n1", -20.0)
    assert shown_s("n1") == pytest.approx(40.0, abs=0.002)
    assert await placed.clock.offset_s("n1") == pytest.approx(40.0)
    await placed.clock.skew("n1", 2.0)
    await asyncio.sleep(5)
    assert shown_s("n1") == pytest.approx(45.1, abs=0.002)
    assert shown_s("n2") == pytest.approx(0.0, abs=0.002)

    await placed.clock.heal()
    await asyncio.sleep(5)
    assert shown_s("n1") == pytest.approx(0.0, abs=0.002)
    assert await placed.clock.offset_s("n1") == pytest.approx(0.0, abs=1e-5)


def test_machines_that_are_made_late_show_true_time() -> None:
    with Simulation(1) as simulation:

        async def main() -> None:
            await asyncio.sleep(5)
            node = SimCluster(simulation, 1)["n1"]
            assert node.clock.offset_ms == 0
            assert node.clock.now_ms() == START_MS + 5000

        simulation.run(main(), deadline_s=10)


@on_simulated_nodes(1)
async def test_a_clock_that_cannot_be_shifted_is_told_of(placed: Placed) -> None:
    with pytest.raises(ValueError, match="a clock cannot run at rate 0"):
        await placed.clock.skew("n1", 0.0)
    with pytest.MonkeyPatch.context() as sabotage:
        sabotage.setattr(SimClock, "jump", lambda *_: None)
        with pytest.raises(FaultMissedError, match="moved by 0 s, not by 1 s"):
            await placed.clock.jump("n1", 1.0)
        sabotage.setattr(SimClock, "run_at", lambda *_: None)
        with pytest.raises(FaultMissedError, match=r"the clock of n1 gained 0 s in 0\.1 s"):
            await placed.clock.skew("n1", 2.0)


# wire


@on_simulated_nodes(1)
async def test_a_message_fault_strikes_and_is_counted_until_it_is_healed(placed: Placed) -> None:
    async def asked_s() -> float:
        begun_s = placed.simulation.now_s
        await placed.cluster.controller()
        return placed.simulation.now_s - begun_s

    reply = Matcher(api="DescribeQuorum", direction="reply", source="n1")
    await placed.wire.add(MessageFault("late", reply, Delay(1.0), None))
    assert await placed.wire.hits("late") == 0
    assert await asked_s() > 1.0
    assert await asked_s() > 1.0
    assert await placed.wire.hits("late") == 2
    await placed.wire.heal()
    assert await asked_s() < 0.1
    assert await placed.wire.hits("late") == 2


@on_simulated_nodes(2)
async def test_messages_between_nodes_are_found_by_their_topic(placed: Placed) -> None:
    """On connections that were open before, though followers name the topic by its id only."""
    for topic in ("t", "u"):
        await create_topic(placed, topic, assignment={0: [1, 2]})
    await asyncio.sleep(1)
    for topic in ("t", "none"):
        fetch = Matcher(api="Fetch", direction="request", source="n2", target="n1", topic=topic)
        await placed.wire.add(MessageFault(topic, fetch, Delay(0.0), None))
    await asyncio.sleep(1)
    assert await placed.wire.hits("t") > 0
    assert await placed.wire.hits("none") == 0
