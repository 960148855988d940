"""A quorum whose members are slow to hear each other, as busy nodes are."""

from __future__ import annotations

import asyncio

import pytest

from harness.sim.links import LinkTimes
from harness.sim.nodes import SimCluster
from harness.sim.simulation import Simulation

FETCH_TIMEOUT_MS = 1000
ONE_WAY_MS = 300


@pytest.mark.parametrize("seed", range(3))
def test_who_hears_late_but_hears_elects_nobody(seed: int) -> None:
    times = LinkTimes(shortest_ns=ONE_WAY_MS * 1_000_000, mean_extra_ns=1_000_000)
    with Simulation(seed, link_times=times) as simulation:
        properties = {
            "controller.quorum.fetch.timeout.ms": str(FETCH_TIMEOUT_MS),
            "controller.quorum.election.timeout.ms": "2000",
        }
        cluster = SimCluster(simulation, 3, properties)

        def epochs() -> set[int]:
            running = [each.node for each in cluster.nodes.values()]
            return {node.quorum.raft.epoch for node in running if node is not None}

        async def main() -> None:
            await cluster.start()
            before = epochs()
            assert len(before) == 1
            await asyncio.sleep(60)
            assert epochs() == before

        simulation.run(main(), deadline_s=600)
