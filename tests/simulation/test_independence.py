"""Taking one entry out of a schedule leaves every decision about other objects alone."""

import asyncio
from dataclasses import replace

import pytest

from broker.protocol.records import Record, build_batch
from harness.schedule.faults import ClockJump, Cut, DiskSlow, Kill, Pause, PowerLoss, both_ways
from harness.schedule.schedule import Operation, Schedule
from harness.sim.processes import SimProcess
from harness.sim.stage import Stage, set_up
from harness.sim.trace import Row
from tests.nodes import Wire, create_topic, produce

LENGTH_MS = 8_000.0

# Two brokers that know nothing of each other, each with a client of its own.
SCHEDULE = Schedule(
    seed=11,
    nodes=2,
    length_ms=LENGTH_MS,
    properties={"broker.session.timeout.ms": "500", "broker.heartbeat.interval.ms": "100"},
    operations={
        client: tuple(
            Operation(at_ms=1000.0 + 40.0 * number, do="send", arguments={"value": number})
            for number in range(150)
        )
        for client in ("c1", "c2")
    },
    faults=(
        Pause(name="f1", at_ms=1500.0, for_ms=300.0, node="n1"),
        Kill(name="f2", at_ms=2000.0, for_ms=500.0, node="n1"),
        Cut(name="f3", at_ms=4000.0, for_ms=700.0, links=both_ways(("c1", "n1"))),
        PowerLoss(name="f4", at_ms=5500.0, for_ms=500.0, node="n1"),
        ClockJump(name="f5", at_ms=1200.0, node="n1", by_ms=3_600_000.0),
        DiskSlow(name="f6", at_ms=1300.0, for_ms=300.0, node="n1", extra_ms=50.0),
        Pause(name="g1", at_ms=1500.0, for_ms=300.0, node="n2"),
        PowerLoss(name="g2", at_ms=2500.0, for_ms=500.0, node="n2"),
        Cut(name="g3", at_ms=4000.0, for_ms=900.0, links=(("n2", "c2"),)),
    ),
)


async def follow(stage: Stage, client: str, node: str) -> None:
    """Does its operations in order, each not before its time, on a new connection if need be."""
    loop = asyncio.get_running_loop()
    wire: Wire | None = None
    for operation in stage.schedule.operations[client]:
        await asyncio.sleep(max(0.0, operation.at_ms / 1000 - loop.time()))
        value = b"%d" % operation.arguments["value"]
        try:
            async with asyncio.timeout(0.5):
                wire = wire or await Wire.connect(stage.cluster[node].address)
                await produce(wire, build_batch([Record(0, 1_700_000_000_000, b"k", value)]))
        except (OSError, asyncio.IncompleteReadError):
            if wire is not None:
                wire.writer.close()
                wire = None


def rows_about(schedule: Schedule, node: str, client: str) -> list[Row]:
    """Ids and causes count all rows, so they are left out."""
    stage = set_up(schedule, is_one_cluster=False)

    async def main() -> None:
        await stage.cluster.start()
        for each in stage.cluster.nodes.values():
            wire = await Wire.connect(each.address)
            await create_topic(wire, "t")
            await wire.close()
        # The outside has waited for both nodes, so from here on both go by the schedule's times.
        for name, its_client in (("n1", "c1"), ("n2", "c2")):
            _ = SimProcess(stage.simulation, its_client).start(follow(stage, its_client, name))
        await asyncio.sleep(schedule.length_ms / 1000 - stage.simulation.now_s)

    with stage.simulation:
        stage.simulation.run(main(), deadline_s=60)
        return [
            row._replace(id=0, cause=0)
            for row in stage.simulation.trace.rows()
            if row.node in (node, client)
        ]


@pytest.mark.parametrize("name", ["f1", "f2", "f3", "f4", "f5", "f6"])
def test_a_fault_less_leaves_the_rest_of_the_world_alone(name: str) -> None:
    before = rows_about(SCHEDULE, "n2", "c2")
    without = replace(SCHEDULE, faults=tuple(f for f in SCHEDULE.faults if f.name != name))
    assert rows_about(without, "n2", "c2") == before
    assert len(before) > 500
    assert {"crash", "pause", "fault", "reset", "drop"} & {row.kind for row in before}


def test_an_operation_less_leaves_the_rest_of_the_world_alone() -> None:
    before = rows_about(SCHEDULE, "n2", "c2")
    operations = {**SCHEDULE.operations, "c1": SCHEDULE.operations["c1"][1:]}
    assert rows_about(replace(SCHEDULE, operations=operations), "n2", "c2") == before


def test_and_it_does_change_what_it_was_about() -> None:
    without = replace(SCHEDULE, faults=SCHEDULE.faults[1:])
    assert rows_about(without, "n1", "c1") != rows_about(SCHEDULE, "n1", "c1")
