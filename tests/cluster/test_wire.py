"""Single messages of real clients and real brokers meet their fault, and nothing is lost by it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Message, Producer

from broker.protocol.errors import ErrorCode
from harness.cluster import Cluster
from harness.cluster.waiting import wait_until
from harness.wire.match import Delay, Drop, Duplicate, Matcher, MessageFault, ReplaceByError
from tests.cluster.clusters import SOON_S, running, until_isr_is
from tests.cluster.confluent import create_topic, read_log

pytestmark = pytest.mark.clients

NODES = ("n1", "n2", "n3")


async def send_one_by_one(cluster: Cluster, client_id: str, count: int) -> dict[bytes, int]:
    """Idempotent, each in a request of its own; the offsets as they were acknowledged."""

    def send() -> dict[bytes, int]:
        stored: dict[bytes, int] = {}

        def delivered(error: KafkaError | None, message: Message) -> None:
            assert error is None, error
            offset = message.offset()
            assert offset is not None
            stored[message.value() or b""] = offset

        producer = Producer(
            {
                "bootstrap.servers": cluster.bootstrap(),
                "client.id": client_id,
                "enable.idempotence": True,
                "request.timeout.ms": 1000,
                "socket.timeout.ms": 2000,
                "linger.ms": 0,
                "log_level": 0,
            }
        )
        for number in range(count):
            value = b"%s %d" % (client_id.encode(), number)
            producer.produce("t", value, partition=0, on_delivery=delivered)
            assert producer.flush(SOON_S) == 0
        return stored

    return await asyncio.to_thread(send)


async def test_a_reply_is_lost_once_and_what_it_answers_is_stored_once(tmp_path: Path) -> None:
    async with running(tmp_path, 3, wire=True) as (cluster, _):
        await create_topic(cluster, "t", partitions=1, replicas=3)
        wire = cluster.wire
        assert wire is not None
        matcher = Matcher(api="Produce", direction="reply", client_id="X", nth=3)
        await wire.add(MessageFault("third reply to X", matcher, Drop()))
        (of_x, of_y) = await asyncio.gather(
            send_one_by_one(cluster, "X", 6), send_one_by_one(cluster, "Y", 6)
        )
        assert await wire.hits("third reply to X") == 1
        log = await read_log(cluster, "t")
        assert {value: offset for (_, offset), value in log} == of_x | of_y
        assert len(log) == 12
        await wire.heal()


async def test_falsified_and_doubled_requests_leave_one_record_each(tmp_path: Path) -> None:
    async with running(tmp_path, 3, wire=True) as (cluster, _):
        await create_topic(cluster, "t", partitions=1, replicas=3)
        wire = cluster.wire
        assert wire is not None
        told = ReplaceByError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        await wire.add(
            MessageFault("no", Matcher(api="Produce", client_id="X", topic="t", nth=2), told)
        )
        await wire.add(
            MessageFault("twice", Matcher(api="Produce", client_id="X", nth=5), Duplicate(0.05))
        )
        of_x = await send_one_by_one(cluster, "X", 8)
        assert (await wire.hits("no"), await wire.hits("twice")) == (1, 1)
        assert {value: offset for (_, offset), value in await read_log(cluster, "t")} == of_x


async def test_brokers_speak_through_it_with_each_other(tmp_path: Path) -> None:
    """A follower whose fetches come late falls out of the ISR, and comes back after the heal."""
    async with running(tmp_path, 3, wire=True) as (cluster, process):
        await create_topic(cluster, "t", partitions=1, replicas=3)
        wire = cluster.wire
        assert wire is not None
        leader = await cluster.leader("t", 0)
        assert leader is not None
        late = Matcher(api="Fetch", direction="reply", source=leader, topic="t")
        await wire.add(MessageFault("late", late, Delay(4.0), times=None))
        producing = asyncio.create_task(send_one_by_one(cluster, "X", 3))

        async def is_alone() -> bool:
            return (await cluster.partitions("t", leader))[0].isr == (leader,)

        await wait_until(is_alone, within_s=SOON_S, what="no follower keeps up")
        assert await wire.hits("late") > 0
        await wire.heal()
        await producing
        await until_isr_is(cluster, "t", NODES)
        await process.kill("n1")
        await process.start("n1")
        await until_isr_is(cluster, "t", NODES)
