"""A node whose list of voters is not the others' ends with a sentence for the user."""

from __future__ import annotations

import pytest

from harness.sim.nodes import NodeDownError, SimCluster
from harness.sim.simulation import Simulation


def voters(*names: int) -> dict[str, str]:
    return {"controller.quorum.voters": ",".join(f"{each}@n{each}:9093" for each in names)}


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        (voters(1, 2, 3), "the controllers (1, 2) do not count this node among the voters"),
        ({**voters(1, 2, 4), "process.roles": "broker"}, "was elected among [1, 2]; make it"),
    ],
)
def test_the_odd_one_ends_and_the_others_go_on(properties: dict[str, str], words: str) -> None:
    def properties_of(node_id: int) -> dict[str, str]:
        return properties if node_id == 3 else voters(1, 2)

    with Simulation(1) as simulation:
        cluster = SimCluster(simulation, 3, properties_of)

        async def story() -> str:
            for node in cluster.nodes.values():
                await node.format(cluster.cluster_id)
                node.start()
            for name in ("n1", "n2"):
                await cluster[name].started()
            with pytest.raises(NodeDownError) as told:
                await cluster["n3"].started()
            assert all(cluster[name].is_running for name in ("n1", "n2"))
            return str(told.value)

        assert words in simulation.run(story(), deadline_s=60.0)
