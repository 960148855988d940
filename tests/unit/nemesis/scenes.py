"""Clusters in the simulator for nemeses to break, and clients that keep them busy."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

from broker.network.interface import Address
from harness.cluster import Cluster, NewTopic
from harness.cluster.capabilities import Clocks, Disks, Network, Processes, Wire
from harness.cluster.parts import the
from harness.cluster.server_properties import QUICK_FAILOVER
from harness.cluster.waiting import wait_until
from harness.native.client import Client
from harness.native.errors import ClientError
from harness.native.partition_sender import ProducerSettings
from harness.native.settings import ClientSettings
from harness.schedule.faults import Fault
from harness.sim.clock import START_MS
from harness.sim.nodes import PORT
from harness.sim.place import SimPlace
from harness.sim.processes import SimProcess
from harness.sim.sim_broker import SimBroker
from harness.sim.simulation import Simulation
from nemesis import parse
from nemesis.base import Moment, Nemesis, Scene

DEADLINE_S = 3600.0
SETTINGS = QUICK_FAILOVER.with_properties(
    {"log.cleaner.backoff.ms": "200", "replica.lag.time.max.ms": "2000"}
)
CLIENT = ClientSettings(connect_timeout_s=1.0, request_timeout_s=2.0)
TOPIC = "t"


@dataclass(slots=True)
class Stage:
    simulation: Simulation
    place: SimPlace
    scene: Scene
    notes: list[tuple[str, Any]] = field(default_factory=list)
    _nemeses: dict[str, Nemesis] = field(default_factory=dict)

    def nemesis(self, text: str) -> Nemesis:
        """Always the same one, as in a run."""
        if text not in self._nemeses:
            self._nemeses[text] = named(text)
        return self._nemeses[text]

    @property
    def cluster(self) -> Cluster:
        return self.scene.cluster

    @property
    def network(self) -> Network:
        assert self.cluster.network is not None
        return self.cluster.network

    @property
    def process(self) -> Processes:
        assert self.cluster.process is not None
        return self.cluster.process

    @property
    def disk(self) -> Disks:
        assert self.cluster.disk is not None
        return self.cluster.disk

    @property
    def clock(self) -> Clocks:
        assert self.cluster.clock is not None
        return self.cluster.clock

    @property
    def wire(self) -> Wire:
        assert self.cluster.wire is not None
        return self.cluster.wire

    async def until_in_sync(self) -> None:
        async def all_are() -> bool:
            found = await self.cluster.partitions(TOPIC)
            return all(set(one.isr) == set(one.replicas) for one in found)

        await wait_until(all_are, within_s=120, what="every replica is in sync")

    def keep_busy(self) -> SimProcess:
        """A client that writes to every partition, until it is killed or the simulation ends."""
        host = SimProcess(self.simulation, "c1")
        nothing = host.start(self._write())
        assert not nothing.done()
        return host

    async def _write(self) -> None:
        client = Client(
            self.simulation.network.of("c1"),
            [Address(node, PORT) for node in self.cluster.nodes],
            random=self.simulation.decisions.random("client", "c1"),
            now_ms=lambda: START_MS + int(self.simulation.now_s * 1000),
            settings=CLIENT,
        )
        async with client:
            producer = client.producer(ProducerSettings(delivery_timeout_s=5.0))
            partitions = len(await self.cluster.partitions(TOPIC))
            for number in count():
                key = b"key %d" % (number % 3)
                try:
                    told = producer.submit(TOPIC, number % partitions, [(key, b"x" * 100)])
                    told.add_done_callback(lambda _: None)
                except ClientError:
                    await asyncio.sleep(0.5)
                await asyncio.sleep(0.05)


Body = Callable[[Stage], Coroutine[None, None, None]]


def on_stage(
    nodes: int = 3,
    *,
    seed: int = 1,
    partitions: int = 2,
    configs: Mapping[str, str] | None = None,
) -> Callable[[Body], Callable[[], None]]:
    """The test gets so many nodes that serve, with one topic, all of whose replicas are in sync."""

    def decorate(body: Body) -> Callable[[], None]:
        # Not by functools.wraps: pytest would look for a fixture of the parameter's name.
        def run() -> None:
            with Simulation(seed) as simulation:
                main = _play(body, simulation, nodes, partitions, dict(configs or {}))
                simulation.run(main, deadline_s=DEADLINE_S)

        run.__name__ = body.__name__
        return run

    return decorate


async def _play(
    body: Body, simulation: Simulation, nodes: int, partitions: int, configs: dict[str, str]
) -> None:
    place = SimPlace(simulation)
    own = {"min.insync.replicas": "2", **configs}
    topic = NewTopic(
        name=TOPIC, partitions=partitions, replication_factor=min(3, nodes), configs=own
    )
    async with Cluster(SimBroker(place, SETTINGS), count=nodes) as cluster:
        await the(cluster.system.topics).create_topic(topic)
        scene = Scene(cluster=cluster, topics=(TOPIC,), topic_configs={TOPIC: own})
        stage = Stage(simulation, place, scene)
        await stage.until_in_sync()
        await body(stage)


def a_moment(text: str, number: int = 1, *, at_ms: float = 0.0, for_ms: float = 5000.0) -> Moment:
    return Moment(nemesis=text, name=f"{text} {number}", at_ms=at_ms, for_ms=for_ms)


def named(text: str) -> Nemesis:
    (nemesis,) = parse(text)
    return nemesis


async def strike(stage: Stage, text: str, *, seed: int = 1) -> tuple[list[Fault], list[str]]:
    """As a conductor would; the faults and their proofs."""
    nemesis, scene = stage.nemesis(text), stage.scene
    assert nemesis.why_not(stage.cluster) is None
    faults = await nemesis.choose(scene, a_moment(text, seed), Random(seed))
    proofs = []
    for fault in faults:
        scene.begin(fault)
        proofs.append(await nemesis.inject(scene, fault))
    assert all(proofs)
    return list(faults), proofs


async def mend(stage: Stage, text: str, faults: list[Fault]) -> None:
    """All at once, as a conductor would, and once more, which changes nothing."""
    nemesis, scene = stage.nemesis(text), stage.scene
    scene.ending.update(fault.name for fault in faults)
    await asyncio.gather(*(nemesis.heal(scene, fault) for fault in faults))
    await asyncio.gather(*(nemesis.heal(scene, fault) for fault in faults))
    for fault in faults:
        scene.end(fault)
