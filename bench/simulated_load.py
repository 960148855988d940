"""The load of the simulator's bench: twenty operations a second on five nodes, and their faults."""

from __future__ import annotations

import asyncio
import gc
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Literal

from harness.decisions import Decisions
from harness.native.produce_queue import Delivered
from harness.native.settings import ClientSettings
from harness.schedule.faults import Cut, Fault, Kill, Pause, PowerLoss, SlowLinks, both_ways
from harness.schedule.schedule import Schedule
from harness.sim.actors import Actor
from harness.sim.aiokafka_actor import AiokafkaActor
from harness.sim.foreign_clients import BROKER_PROPERTIES, foreign_clients
from harness.sim.invariants import invariants
from harness.sim.invariants.base import Cost
from harness.sim.invariants.watch import Watch
from harness.sim.operations import Load, Operations, draw_operations
from harness.sim.processes import SimProcess
from harness.sim.record import Record
from harness.sim.stage import Stage, set_up

Client = Literal["own", "aiokafka"]
Watching = Literal["off", "cheap", "all"]

NODES = 5
PARTITIONS = 3
SENDS_PER_S = 10.0
POLLS_PER_S = 10.0
FAULT_EVERY_S = 5.0
COMPLETE_SHARE_MIN = 0.95

_BEGIN_S = 4.0
"""By then the cluster is up."""
_CALM_S = 5.0
_SETTINGS = ClientSettings(request_timeout_s=5.0, connect_timeout_s=2.0, delivery_timeout_s=60.0)
_COSTS: dict[Watching, Cost | None] = {"off": None, "cheap": Cost.CHEAP, "all": Cost.EXPENSIVE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One run. `cpu_s` is all that it took, from setting up the hosts to the last operation."""

    client: Client
    watching: Watching
    simulated_s: float
    cpu_s: float
    operations: int
    complete: int
    faults: int
    messages: int
    events: int
    callbacks: int

    @property
    def speed(self) -> float:
        return self.simulated_s / self.cpu_s

    @property
    def complete_share(self) -> float:
        return self.complete / self.operations


def draw_load(seed: int, length_s: float) -> Schedule:
    """Kafka's own intervals: no property is set that has to do with time."""
    decisions = Decisions(seed)
    load = Load(
        begin_ms=_BEGIN_S * 1000,
        end_ms=length_s * 1000,
        nodes=NODES,
        partitions=PARTITIONS,
        sends_per_s=SENDS_PER_S,
        polls_per_s=POLLS_PER_S,
        moves_per_s=0.0,
        commits_per_s=0.0,
    )
    return Schedule(
        seed=seed,
        nodes=NODES,
        length_ms=length_s * 1000,
        properties={"min.insync.replicas": "2", **BROKER_PROPERTIES},
        operations=_from_leaders(draw_operations(decisions, load)),
        faults=_faults(decisions, length_s),
    )


def _from_leaders(operations: Operations) -> Operations:
    """A node that is asked by name may hold no replica: such a poll would fail for no fault."""
    return {
        client: tuple(
            replace(
                each,
                arguments={name: value for name, value in each.arguments.items() if name != "node"},
            )
            for each in drawn
        )
        for client, drawn in operations.items()
        if drawn
    }


def _faults(decisions: Decisions, length_s: float) -> tuple[Fault, ...]:
    """One kind after the other; the seed decides whom it strikes and for how long."""
    nodes = [f"n{number}" for number in range(1, NODES + 1)]
    faults: list[Fault] = []
    at_s = FAULT_EVERY_S
    while at_s <= length_s - _CALM_S:
        name = f"f{len(faults) + 1}"
        dice = decisions.random("bench_fault", name)
        node, for_ms = dice.choice(nodes), round(dice.uniform(500.0, 3500.0), 3)
        around = both_ways(*((node, other) for other in nodes if other != node))
        at_ms = at_s * 1000
        kinds: tuple[Fault, ...] = (
            Kill(name=name, at_ms=at_ms, for_ms=for_ms, node=node),
            PowerLoss(name=name, at_ms=at_ms, for_ms=for_ms, node=node),
            Pause(name=name, at_ms=at_ms, for_ms=for_ms, node=node),
            Cut(name=name, at_ms=at_ms, for_ms=for_ms, links=around),
            SlowLinks(name=name, at_ms=at_ms, for_ms=for_ms, links=around, factor=10.0),
        )
        faults.append(kinds[len(faults) % len(kinds)])
        at_s += FAULT_EVERY_S
    return tuple(faults)


def measure(
    seed: int, length_s: float, *, client: Client = "own", watching: Watching = "off"
) -> Measured:
    """Raises InvariantBroken, and AssertionError when too few operations were completed."""
    schedule, record = draw_load(seed, length_s), Record()
    gc.collect()
    begun_s = time.process_time()
    stage = set_up(schedule)
    cost = _COSTS[watching]
    if cost is not None:
        Watch(stage.cluster, invariants(cost))
    with stage.simulation as simulation, ExitStack() as bound:
        if client == "aiokafka":
            bound.enter_context(foreign_clients(simulation))
        simulation.run(_play(stage, record, client), deadline_s=length_s + 120.0)
    cpu_s = time.process_time() - begun_s
    delivered = sum(isinstance(sent.outcome, Delivered) for sent in record.sends)
    measured = Measured(
        client=client,
        watching=watching,
        simulated_s=simulation.now_s,
        cpu_s=cpu_s,
        operations=sum(map(len, schedule.operations.values())),
        complete=delivered + record.polls - record.failed_polls,
        faults=sum(stage.director.carried_out.values()),
        messages=sum(1 for row in simulation.trace.rows() if row.kind == "send"),
        events=len(simulation.trace),
        callbacks=simulation.loop.callbacks,
    )
    assert measured.complete_share >= COMPLETE_SHARE_MIN, (
        f"only {measured.complete} of {measured.operations} operations were completed"
    )
    return measured


async def _play(stage: Stage, record: Record, client: Client) -> None:
    await stage.cluster.start()
    founder = Actor("founder", stage, record, _SETTINGS)
    await SimProcess(stage.simulation, "founder").start(founder.create_topic(PARTITIONS))
    playing = []
    for name, operations in stage.schedule.operations.items():
        actor: Actor | AiokafkaActor
        if client == "own":
            actor = Actor(name, stage, record, _SETTINGS)
        else:
            actor = AiokafkaActor(name, stage, record, partitions=PARTITIONS)
        playing.append(SimProcess(stage.simulation, name).start(actor.run(operations)))
    await asyncio.wait(playing)
    for each in playing:
        each.result()
