"""Runs a story on a cluster, wherever its nodes live: real processes, or inside the simulator.

A story is a coroutine of a cluster and its clients. It waits by the running loop alone, so it
cannot tell which of the two it is in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from harness.cluster import Cluster
from harness.cluster.local import LocalPlace
from harness.cluster.reference_broker import ReferenceBroker
from harness.cluster.server_properties import QUICK_FAILOVER
from harness.sim.invariants import invariants
from harness.sim.invariants.watch import Watch
from harness.sim.place import SimPlace
from harness.sim.sim_broker import SimBroker
from harness.sim.simulation import Simulation
from tests.cluster import confluent
from tests.cluster.clusters import LAG
from tests.cluster.confluent import PATIENCE_S, Position
from tests.cluster.sim_clients import GIVE_UP_S, SimClients

DEADLINE_S = 600.0
SETTINGS = replace(QUICK_FAILOVER, properties=LAG)


class Clients(Protocol):
    """Each call is a client of its own, which knows nothing yet."""

    async def create_topic(
        self,
        name: str,
        *,
        partitions: int,
        replicas: int,
        config: Mapping[str, str] | None = None,
    ) -> None: ...

    async def produce(
        self, topic: str, values: Sequence[bytes], *, partition: int, may_fail: bool = False
    ) -> dict[bytes, Position]:
        """acks=all; where each was stored. With `may_fail`, of those acknowledged soon."""
        ...

    async def read_all(self, topic: str) -> dict[bytes, Position]:
        """Up to the high watermarks of now. No value is there twice."""
        ...


Story = Callable[[Cluster, Clients], Coroutine[None, None, None]]


class ConfluentClients:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def create_topic(
        self,
        name: str,
        *,
        partitions: int,
        replicas: int,
        config: Mapping[str, str] | None = None,
    ) -> None:
        await confluent.create_topic(
            self._cluster, name, partitions=partitions, replicas=replicas, config=config
        )

    async def produce(
        self, topic: str, values: Sequence[bytes], *, partition: int, may_fail: bool = False
    ) -> dict[bytes, Position]:
        return await confluent.produce(
            self._cluster,
            topic,
            values,
            partition=partition,
            may_fail=may_fail,
            timeout_s=GIVE_UP_S if may_fail else PATIENCE_S,
        )

    async def read_all(self, topic: str) -> dict[bytes, Position]:
        return await confluent.read_all(self._cluster, topic)


def on_local(story: Story, directory: Path, *, disk_bytes: int | None = None) -> None:
    async def main() -> None:
        place = LocalPlace(directory, disk_bytes=disk_bytes)
        async with Cluster(ReferenceBroker(place, SETTINGS), count=3) as cluster:
            await story(cluster, ConfluentClients(cluster))

    asyncio.run(main())


def on_sim(story: Story, seed: int = 1) -> str:
    """With every invariant on. Returns the digest of all that happened."""
    with Simulation(seed) as simulation:
        place = SimPlace(simulation)
        watches: list[Watch] = []
        system = SimBroker(
            place, SETTINGS, on_made=lambda nodes: watches.append(Watch(nodes, invariants()))
        )

        async def main() -> None:
            async with Cluster(system, count=3) as cluster:
                await story(cluster, SimClients(simulation, cluster))

        simulation.run(main(), deadline_s=DEADLINE_S)
        assert watches[0].steps > 0
        return simulation.trace.digest()


def _check(real: ConfluentClients, simulated: SimClients) -> tuple[Clients, Clients]:
    """Has mypy hold both to what stories expect."""
    return real, simulated
