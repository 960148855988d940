"""Clusters in a simulated place for the tests here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from broker.network.interface import Address
from harness.cluster import Cluster
from harness.cluster.capabilities import Clocks, Disks, Network, Processes, Wire
from harness.cluster.server_properties import QUICK_FAILOVER
from harness.native.client import Client
from harness.sim.nodes import PORT
from harness.sim.place import SimPlace
from harness.sim.processes import SimProcess
from harness.sim.sim_broker import SimBroker
from harness.sim.simulation import Simulation

DEADLINE_S = 600.0
PATIENCE_S = 0.5


@dataclass(frozen=True, slots=True)
class Placed:
    """A cluster that serves, with all that may be broken."""

    place: SimPlace
    cluster: Cluster
    process: Processes
    network: Network
    disk: Disks
    clock: Clocks
    wire: Wire

    @property
    def simulation(self) -> Simulation:
        return self.place.simulation


Body = Callable[[Placed], Coroutine[None, None, None]]


def on_simulated_nodes(count: int) -> Callable[[Body], Callable[[], None]]:
    """The test gets so many nodes that serve."""

    def decorate(body: Body) -> Callable[[], None]:
        # Not by functools.wraps: pytest would look for a fixture of the parameter's name.
        def run() -> None:
            with Simulation(1) as simulation:
                place = SimPlace(simulation)
                simulation.run(_play(body, place, count), deadline_s=DEADLINE_S)

        run.__name__ = body.__name__
        return run

    return decorate


async def _play(body: Body, place: SimPlace, count: int) -> None:
    async with Cluster(SimBroker(place, QUICK_FAILOVER), count=count) as cluster:
        assert cluster.process is not None
        assert cluster.network is not None
        assert cluster.disk is not None
        assert cluster.clock is not None
        assert cluster.wire is not None
        placed = partial(Placed, place, cluster, cluster.process, cluster.network, cluster.disk)
        await body(placed(cluster.clock, cluster.wire))


async def create_topic(
    placed: Placed, name: str, *, assignment: Mapping[int, Sequence[int]]
) -> None:
    client = Client(
        placed.simulation.network.of("c1"),
        [node.address for node in placed.place.nodes.values()],
        random=placed.simulation.decisions.random("client", name),
        now_ms=lambda: 0,
    )
    async with client:
        await client.admin.create_topic(name, assignment=assignment)


async def connects(placed: Placed, source: str, target: str) -> bool:
    """Whether a process on the one machine gets a connection to the broker on the other."""

    async def connect() -> bool:
        try:
            async with asyncio.timeout(PATIENCE_S):
                network = placed.simulation.network.of(source)
                (await network.connect(Address(target, PORT))).close()
        except (TimeoutError, OSError):
            return False
        return True

    return await SimProcess(placed.simulation, source).start(connect())
