"""The simulated place: its hosts, their files, and how it comes up and down."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from harness.cluster import CAPABILITIES, Cluster
from harness.cluster.base import Host
from harness.cluster.server_properties import QUICK_FAILOVER
from harness.errors import EnvironmentFailure
from harness.sim.place import SimPlace
from harness.sim.sim_broker import SimBroker
from harness.sim.simulation import Simulation
from harness.wire.match import Delay, Matcher, MessageFault
from tests.unit.harness.sim.places import Placed, on_simulated_nodes


def test_each_node_is_a_host_with_an_address_of_its_own() -> None:
    with Simulation(1) as simulation:
        place = SimPlace(simulation)

        async def main() -> None:
            assert place.hosts == ()
            hosts = await place.up(2)
            home, data = PurePosixPath("/home"), PurePosixPath("/data")
            assert hosts == (
                Host(node="n1", address="n1", home=home, data=data),
                Host(node="n2", address="n2", home=home, data=data),
            )
            assert place.port("n1", 9092) == place.port("n2", 9092) == 9092
            with pytest.raises(ValueError, match="there is no node n3 here"):
                place.port("n3", 9092)
            await place.down()
            await place.down()
            assert place.hosts == ()
            with pytest.raises(RuntimeError, match="a simulated place comes up once"):
                await place.up(2)

        simulation.run(main(), deadline_s=10)


@on_simulated_nodes(1)
async def test_everything_can_be_broken(placed: Placed) -> None:
    for capability in CAPABILITIES:
        assert placed.cluster.why_not(capability) is None
        assert getattr(placed.cluster, capability) is not None


@on_simulated_nodes(1)
async def test_no_command_runs_and_the_place_says_so(placed: Placed) -> None:
    why = "uptime cannot run on n1: a simulated host has no processes but its broker"
    with pytest.raises(EnvironmentFailure, match=why):
        await placed.place.run("n1", ["uptime"])
    out = PurePosixPath("/home/out")
    with pytest.raises(EnvironmentFailure, match=why):
        await placed.place.spawn("n1", ["uptime"], stdout=out, stderr=out)


def test_files_are_put_on_a_machine_and_fetched_from_it(tmp_path: Path) -> None:
    copy = tmp_path / "copy"

    @on_simulated_nodes(2)
    async def body(placed: Placed) -> None:
        place, home = placed.place, placed.place.hosts[0].home
        await place.put("n1", b"first", home / "some" / "folder" / "file")
        await place.put("n1", b"second", home / "some" / "folder" / "file")
        await place.get("n1", home / "some" / "folder" / "file", copy)
        assert copy.read_bytes() == b"second"
        # Another machine has other files.
        with pytest.raises(FileNotFoundError, match="No such file on n2"):
            await place.get("n2", home / "some" / "folder" / "file", copy)
        await place.get("n2", home / "server.properties", copy)
        assert b"node.id=2\n" in copy.read_bytes()
        # What the broker itself has stored; a broken disk is not in the way.
        await placed.disk.fail("n2")
        await place.get("n2", PurePosixPath("/data/logs/meta.properties"), copy)
        assert b"node.id=2\n" in copy.read_bytes()
        with pytest.raises(ValueError, match="/etc/passwd lies on no disk of n1: it has /home"):
            await place.put("n1", b"", PurePosixPath("/etc/passwd"))

    body()


def test_going_down_leaves_nothing_running_and_no_fault_in_force() -> None:
    with Simulation(1) as simulation:
        place = SimPlace(simulation)

        async def main() -> None:
            async with Cluster(SimBroker(place, QUICK_FAILOVER), count=2) as cluster:
                assert cluster.network is not None
                assert cluster.disk is not None
                assert cluster.clock is not None
                assert cluster.wire is not None
                await cluster.network.cut([("n1", "n2"), ("n2", "n1")])
                await cluster.disk.fill("n1")
                await cluster.clock.jump("n1", 60.0)
                await cluster.wire.add(MessageFault("late", Matcher(), Delay(1.0), None))
            nodes = place.nodes.values()
            assert not any(node.is_running for node in nodes)
            assert [node.clock.offset_ms for node in nodes] == pytest.approx([0.0, 0.0], abs=0.01)
            assert all(
                disk.capacity_bytes is None for node in nodes for disk in node.disks.values()
            )
            assert cluster.nodes == ()
            assert ("n1", "n2") in await cluster.network.reachable()
            assert simulation.network.message_faults is not None
            assert simulation.network.message_faults._in_force == {}

        simulation.run(main(), deadline_s=60)
