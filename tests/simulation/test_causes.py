"""From an acknowledgement back to its request, by the causes in the trace of a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import cache

from harness.native.settings import ClientSettings
from harness.schedule.schedule import Operation, Schedule
from harness.sim.actors import Actor
from harness.sim.processes import SimProcess
from harness.sim.record import Record
from harness.sim.stage import set_up
from harness.sim.trace import Row, Trace

SENDS = 60
PARTITIONS = 3


@cache
def played() -> Trace:
    """Five nodes, three replicas of each partition, all in sync: no fault strikes."""
    schedule = Schedule(
        seed=1,
        nodes=5,
        operations={
            "writer": tuple(
                Operation(
                    at_ms=4000.0 + 70.0 * number,
                    do="send",
                    arguments={"partition": number % PARTITIONS, "value": str(number)},
                )
                for number in range(SENDS)
            )
        },
    )
    stage, record = set_up(schedule), Record()

    async def main() -> None:
        await stage.cluster.start()
        writer = Actor("writer", stage, record, ClientSettings())
        process = SimProcess(stage.simulation, "writer")
        await process.start(writer.create_topic(PARTITIONS))
        await asyncio.sleep(1)
        await process.start(writer.run(schedule.operations["writer"]))

    with stage.simulation as simulation:
        simulation.run(main(), deadline_s=60)
        return simulation.trace


def way(trace: Trace, row: Row) -> Iterator[Row]:
    """Back to where a client sent a produce request."""
    for each in trace.causes(row.id):
        yield each
        if (each.node, each.kind, each.api) == ("writer", "send", "Produce"):
            return


def test_an_acknowledgement_is_four_steps_from_its_request() -> None:
    trace = played()
    acks = [
        row
        for row in trace.rows()
        if (row.node, row.kind, row.api) == ("writer", "deliver", "Produce")
    ]
    assert len(acks) == SENDS
    for ack in acks:
        told, answer, asked, request = list(trace.causes(ack.id))[:4]
        kinds = [row.kind for row in (told, answer, asked, request)]
        assert kinds == ["deliver", "send", "deliver", "send"]
        assert (told.node, request.node) == ("writer", "writer")
        assert answer.node == asked.node
        assert len({(row.connection, row.correlation_id) for row in (told, answer, asked)}) == 1
        assert (request.connection, request.correlation_id) == (
            told.connection,
            told.correlation_id,
        )


def test_what_was_acknowledged_went_by_a_follower_and_back() -> None:
    """The leader tells a follower of the append, and learns by its next fetch that it has it."""
    trace = played()
    rows = list(trace.rows())
    direct = 0
    for acknowledged in [row for row in rows if row.kind == "acknowledged"]:
        steps = list(way(trace, acknowledged))
        assert steps[-1].node == "writer"
        followers = {row.node for row in steps} - {"writer", acknowledged.node}
        assert followers
        reply = next(
            row for row in rows[acknowledged.id :] if (row.kind, row.api) == ("send", "Produce")
        )
        assert (reply.node, reply.time_ns) == (acknowledged.node, acknowledged.time_ns)
        is_its_own = (reply.connection, reply.correlation_id) == (
            steps[-1].connection,
            steps[-1].correlation_id,
        )
        direct += is_its_own and [(row.kind, row.api) for row in steps] == [
            ("acknowledged", ""),
            ("deliver", "Fetch"),
            ("send", "Fetch"),
            ("deliver", "Fetch"),
            ("send", "Fetch"),
            ("deliver", "Produce"),
            ("send", "Produce"),
        ]
    # The others went out with a fetch that came while they were appended.
    assert direct > 0.9 * SENDS


def test_the_high_watermark_rose_because_of_a_fetch() -> None:
    trace = played()
    risen = [
        row
        for row in trace.rows()
        if row.kind == "high_watermark" and row.topic == "t" and row.offset > 0
    ]
    leaders = [row for row in risen if trace.row(row.cause).api == "Fetch"]
    assert len(leaders) >= SENDS
    assert {trace.row(row.cause).kind for row in leaders} == {"deliver"}
