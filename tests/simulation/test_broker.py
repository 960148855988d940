"""A broker inside the simulator: its clients, its crashes, its trace."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Literal, TypeVar

import pytest

from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from broker.protocol.records import Record, build_batch
from harness.schedule.crash_points import CrashPoint
from harness.sim.nodes import NodeDownError, SimCluster
from harness.sim.simulation import Simulation
from harness.sim.trace import Trace
from harness.wire.match import (
    Delay,
    Drop,
    Duplicate,
    Matcher,
    MessageFault,
    MessageFaults,
    ReplaceByError,
)
from tests.nodes import Wire, create_topic, fetch, fetch_request, produce, produce_request

_Result = TypeVar("_Result")


def batch(value: bytes, **fields: int) -> bytes:
    return bytes(build_batch([Record(0, 1_700_000_000_000, b"k", value)], **fields))


def run(
    story: Callable[[SimCluster], Coroutine[Any, Any, _Result]],
    *,
    seed: int = 1,
    properties: dict[str, str] | None = None,
    crash_points: tuple[CrashPoint, ...] = (),
    faults: list[MessageFault] | None = None,
) -> tuple[_Result, Trace]:
    with Simulation(seed, message_faults=MessageFaults(faults) if faults else None) as simulation:
        cluster = SimCluster(simulation, 1, properties, crash_points=crash_points)

        async def main() -> _Result:
            await cluster.start()
            return await story(cluster)

        return simulation.run(main(), deadline_s=600), simulation.trace


async def connected(cluster: SimCluster) -> Wire:
    return await Wire.connect(cluster["n1"].address)


async def with_topic(cluster: SimCluster) -> Wire:
    wire = await connected(cluster)
    await create_topic(wire, "t")
    return wire


def test_records_are_produced_and_fetched() -> None:
    async def story(cluster: SimCluster) -> bytes:
        wire = await with_topic(cluster)
        for number in range(10):
            answer = await produce(wire, batch(b"value %d" % number))
            assert (answer.error_code, answer.base_offset) == (0, number)
        part = await fetch(wire, 0)
        assert part.high_watermark == 10
        await wire.close()
        assert part.records is not None
        return bytes(part.records)

    records, _ = run(story)
    assert all(b"value %d" % number in records for number in range(10))


def test_causes_lead_from_an_acknowledgement_back_to_its_produce() -> None:
    async def story(cluster: SimCluster) -> None:
        wire = await with_topic(cluster)
        # All behind a fetch that waits: the broker handles a request when the one before it is
        # answered, so something else than its own delivery leads to its reply.
        wire.writer.write(
            wire.frame(ApiKey.FETCH, 12, fetch_request(0, max_wait_ms=500, min_bytes=1))
        )
        frames = [
            wire.frame(ApiKey.PRODUCE, 9, produce_request(batch(b"%d" % number)))
            for number in range(5)
        ]
        wire.writer.write(b"".join(frames))
        await wire.answer(ApiKey.FETCH, 12)
        for _ in frames:
            await wire.answer(ApiKey.PRODUCE, 9)
        await wire.close()

    _, trace = run(story)
    acknowledgements = [
        row
        for row in trace.rows()
        if row.kind == "deliver" and row.api == "Produce" and row.node == "outside"
    ]
    assert len(acknowledgements) == 5
    for row in acknowledgements:
        chain = list(trace.causes(row.id))[:4]
        assert [(each.kind, each.node) for each in chain] == [
            ("deliver", "outside"),
            ("send", "n1"),
            ("deliver", "n1"),
            ("send", "outside"),
        ]
        assert {(each.api, each.correlation_id) for each in chain} == {
            ("Produce", row.correlation_id)
        }


def test_a_killed_broker_keeps_what_it_wrote() -> None:
    async def story(cluster: SimCluster) -> int:
        wire = await with_topic(cluster)
        await produce(wire, batch(b"written"))
        cluster["n1"].kill()
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await fetch(wire, 0)
        wire.writer.close()
        cluster["n1"].start()
        await cluster["n1"].started()
        again = await connected(cluster)
        part = await fetch(again, 0)
        await again.close()
        return part.high_watermark

    high_watermark, trace = run(story)
    assert high_watermark == 1
    assert [row.detail for row in trace.rows() if row.kind == "crash"] == ["kill"]


@pytest.mark.parametrize(("flush_every", "kept"), [("1", 3), ("1000000", 0)])
def test_a_power_loss_takes_what_was_not_synced(flush_every: str, kept: int) -> None:
    async def story(cluster: SimCluster) -> int:
        wire = await with_topic(cluster)
        for number in range(3):
            await produce(wire, batch(b"%d" % number))
        cluster["n1"].power_loss(torn=False)
        wire.writer.close()
        cluster["n1"].start()
        await cluster["n1"].started()
        again = await connected(cluster)
        part = await fetch(again, 0)
        await again.close()
        return part.high_watermark

    high_watermark, trace = run(story, properties={"log.flush.interval.messages": flush_every})
    assert high_watermark == kept
    [crash] = [row for row in trace.rows() if row.kind == "crash"]
    assert (crash.detail, crash.offset == 0) == ("power loss", kept == 3)


@pytest.mark.parametrize(("when", "kept"), [("before", False), ("after", True)])
def test_a_crash_point_strikes_right_before_or_after_the_sync(
    when: Literal["before", "after"], kept: bool
) -> None:
    """The topic's creation is one sync of the metadata; nobody hears of it either way."""

    async def count(cluster: SimCluster) -> int:
        await (await with_topic(cluster)).close()
        return 0

    _, trace = run(count)
    # The same seed syncs in the same order up to the crash, and a sync's row tells its number.
    rows = list(trace.rows())
    syncs = [row for row in rows if row.kind == "fsync"]
    created = next(row for row in rows if row.api == "CreateTopics" and row.node == "n1")
    nth = next(row.offset for row in syncs if row.time_ns > created.time_ns)

    async def story(cluster: SimCluster) -> bool:
        wire = await connected(cluster)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await create_topic(wire, "t")
        wire.writer.close()
        await asyncio.sleep(5)
        node = await cluster["n1"].started()
        return "t" in node.metadata.image.topics

    point = CrashPoint(
        node="n1", operation="fdatasync", nth=nth, when=when, torn=False, for_ms=1000
    )
    found, trace = run(story, crash_points=(point,))
    assert found is kept
    assert [row.detail for row in trace.rows() if row.kind == "fault"] == [
        f"power_loss {when} fdatasync {nth}"
    ]


def test_a_node_that_cannot_start_says_why() -> None:
    async def story(cluster: SimCluster) -> None:
        node = cluster["n1"]
        node.kill()
        node.disk_faults.fail("read")
        node.start()
        with pytest.raises(NodeDownError, match="Input/output error"):
            await node.started()
        assert not node.is_running
        node.disk_faults.heal()
        node.start()
        await node.started()

    _, trace = run(story)
    assert [row.kind for row in trace.rows() if row.kind in ("exit", "ready")] == [
        "ready",
        "exit",
        "ready",
    ]


def test_a_clean_stop_is_not_a_crash() -> None:
    async def story(cluster: SimCluster) -> int:
        node = cluster["n1"]
        await node.stop()
        assert not node.is_running
        node.start()
        await node.started()
        return 0

    _, trace = run(story)
    assert not [row for row in trace.rows() if row.kind == "crash"]


def test_message_faults_strike_chosen_messages() -> None:
    faults = [
        MessageFault("late", Matcher(api="Produce", direction="request", nth=1), Delay(2.0)),
        MessageFault("twice", Matcher(api="Produce", nth=2), Duplicate(0.5)),
        MessageFault(
            "wrong",
            Matcher(api="Produce", direction="reply", nth=3),
            ReplaceByError(ErrorCode.NOT_LEADER_OR_FOLLOWER),
        ),
        MessageFault("lost", Matcher(api="Produce", direction="reply", nth=4), Drop()),
    ]

    async def story(cluster: SimCluster) -> int:
        wire = await with_topic(cluster)
        began = cluster.simulation.now_s
        assert (await produce(wire, batch(b"late"))).base_offset == 0
        assert 2.0 < cluster.simulation.now_s - began < 2.1
        assert (await produce(wire, batch(b"twice"))).base_offset == 1
        await asyncio.sleep(1)
        assert (await fetch(wire, 0)).high_watermark == 3
        wrong = await produce(wire, batch(b"wrong"))
        assert wrong.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        with pytest.raises(TimeoutError):
            await produce(wire, batch(b"lost"))
        wire.writer.close()
        again = await connected(cluster)
        high_watermark = (await fetch(again, 0)).high_watermark
        await again.close()
        return high_watermark

    high_watermark, trace = run(story, faults=faults)
    assert high_watermark == 5
    told = [
        row for row in trace.rows() if row.kind in ("delay", "duplicate", "error_reply", "drop")
    ]
    assert [(row.kind, row.node, row.detail) for row in told] == [
        ("delay", "outside", "2.0 s"),
        ("duplicate", "outside", "after 0.5 s"),
        ("drop", "n1", "the reply to a copy"),
        ("error_reply", "n1", "NOT_LEADER_OR_FOLLOWER"),
        ("drop", "n1", "message fault"),
    ]
    copies = [row for row in trace.rows() if row.kind == "deliver" and row.node == "n1"]
    assert [trace.row(row.cause).kind for row in copies].count("duplicate") == 1
