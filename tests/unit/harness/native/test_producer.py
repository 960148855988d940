"""Nothing is lost, doubled or reordered, whatever breaks; and what is unknown is called so."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from harness.native.client import Client
from harness.native.errors import ClientClosedError
from harness.native.partition_sender import ACKS_LEADER, ACKS_NONE, ProducerSettings
from harness.native.produce_queue import Delivered, Failed, Unknown
from harness.native.reader import EARLIEST, LATEST, FetchSettings
from harness.native.versions import Versions
from harness.wire.message import Message
from tests.nodes import PATIENCE_S, running_node, wait_until
from tests.unit.harness.native.client_worlds import (
    HASTY,
    CuttingNetwork,
    ScriptedBroker,
    client_of,
    produce_answer,
    scripted,
)

AT_ONCE = FetchSettings(max_wait_s=0.0)


async def read_all(client: Client, topic: str = "t", partition: int = 0) -> list[tuple[int, bytes]]:
    reader = client.reader()
    offset = (await reader.list_offset(topic, partition, EARLIEST)).offset
    found: list[tuple[int, bytes]] = []
    while True:
        fetched = await reader.fetch(topic, partition, offset, AT_ONCE)
        if fetched.next_offset == offset:
            return found
        found += [(record.offset, record.value or b"") for record in fetched.records]
        offset = fetched.next_offset


async def test_batches_are_in_the_log_in_the_order_in_which_they_were_submitted() -> None:
    async with running_node() as node, client_of(node.advertised) as client:
        await client.admin.create_topic("t")
        producer = client.producer()
        pairs = [[(None, b"%d.%d" % (at, each)) for each in range(3)] for at in range(20)]
        outcomes = [producer.submit("t", 0, each) for each in pairs]
        await producer.flush()
        assert [each.result() for each in outcomes] == [Delivered(3 * at) for at in range(20)]
        sent = [value for batch in pairs for _, value in batch]
        assert await read_all(client) == list(enumerate(sent))


def seldom(random: Random, *, every: int) -> Any:
    """Cuts about every so many messages of produce, before or after, going or coming."""

    def decide(message: Message) -> str:
        if message.api_key != ApiKey.PRODUCE or random.randrange(every):
            return "pass"
        return random.choice(["cut before", "cut after"])

    return decide


@pytest.mark.parametrize("seed", range(12))
async def test_cut_connections_lose_and_double_nothing(seed: int) -> None:
    network = CuttingNetwork(seldom(Random(seed), every=6))
    async with (
        running_node() as node,
        client_of(node.advertised, network=network) as client,
        client_of(node.advertised) as witness,
    ):
        await witness.admin.create_topic("t")
        producer = client.producer()
        values = [b"v%d" % at for at in range(60)]
        outcomes = [producer.submit("t", 0, [(None, value)]) for value in values]
        await producer.flush()
        assert network.cuts > 5
        assert [each.result() for each in outcomes] == [Delivered(at) for at in range(60)]
        assert await read_all(witness) == list(enumerate(values))
        assert producer.resets == 0


async def test_a_reply_that_is_lost_is_asked_for_again_and_the_batch_is_not_doubled() -> None:
    lost: list[Message] = []

    def decide(message: Message) -> str:
        is_reply = message.api_key == ApiKey.PRODUCE and not message.is_request
        if is_reply and len(lost) < 3:
            lost.append(message)
            return "cut before"
        return "pass"

    network = CuttingNetwork(decide)
    async with running_node() as node, client_of(node.advertised, network=network) as client:
        await client.admin.create_topic("t")
        producer = client.producer()
        outcomes = [producer.submit("t", 0, [(None, b"%d" % at)]) for at in range(8)]
        await producer.flush()
        assert len(lost) == 3
        assert [each.result() for each in outcomes] == [Delivered(at) for at in range(8)]
        assert [offset for offset, _ in await read_all(client)] == list(range(8))


async def test_up_to_five_produce_requests_of_a_partition_are_in_flight() -> None:
    broker = ScriptedBroker()
    broker.set_leader("t", 1, 0)
    gate = asyncio.Event()
    most = 0

    async def answer(message: Message) -> m.ProduceResponse:
        await gate.wait()
        return produce_answer(offset=broker.count(ApiKey.PRODUCE) - 1)

    broker.script[ApiKey.PRODUCE] = answer
    async with scripted(broker), client_of(broker.address) as client:
        producer = client.producer()
        outcomes = [producer.submit("t", 0, [(None, b"v")]) for _ in range(8)]
        await client.metadata.refresh()
        connection = await client.nodes.connection(1, "producer 0")
        await wait_until(lambda: connection.in_flight == 5)
        await asyncio.sleep(0.02)
        most = connection.in_flight
        gate.set()
        await producer.flush()
        assert most == 5
        assert all(isinstance(each.result(), Delivered) for each in outcomes)
        counted = producer.meter.take()
        assert (counted.requests_max, counted.records_max, counted.batches) == (5, 5, {1: 8})


async def test_no_batch_goes_to_a_new_leader_before_one_that_the_old_leader_has() -> None:
    """Seed 3077: the new leader did not know the producer, and took its second batch first."""
    old, new = ScriptedBroker(1), ScriptedBroker(2)
    for broker in (old, new):
        broker.set_leader("t", 1, 0)
    deposed = asyncio.Event()

    async def refuse(_: Message) -> m.ProduceResponse:
        await deposed.wait()
        return produce_answer(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    async def take(_: Message) -> m.ProduceResponse:
        return produce_answer(offset=new.count(ApiKey.PRODUCE) - 1)

    old.script[ApiKey.PRODUCE], new.script[ApiKey.PRODUCE] = refuse, take
    async with scripted(old, new), client_of(old.address) as client:
        producer = client.producer()
        first = producer.submit("t", 0, [(None, b"first")])
        await wait_until(lambda: old.count(ApiKey.PRODUCE) == 1)
        for broker in (old, new):
            broker.set_leader("t", 2, 1)
        await client.metadata.refresh()
        second = producer.submit("t", 0, [(None, b"second")])
        await asyncio.sleep(0.05)
        assert new.count(ApiKey.PRODUCE) == 0
        deposed.set()
        await producer.flush()
        assert (first.result(), second.result()) == (Delivered(0), Delivered(1))
        assert [sequence for _, sequence in sequences(new)] == [0, 1]


def sequences(broker: ScriptedBroker) -> list[tuple[int, int]]:
    """Producer id and sequence of each produce request, as the broker got them."""
    found = []
    for message in broker.asked:
        if message.api_key == ApiKey.PRODUCE:
            records = bytes(message.body.topic_data[0].partition_data[0].records)
            producer_id = int.from_bytes(records[43:51], "big")
            found.append((producer_id, int.from_bytes(records[53:57], "big")))
    return found


def told(*codes: ErrorCode) -> Any:
    """Answers the first produce requests with these, and the rest with success."""
    left = list(codes)

    async def answer(message: Message) -> m.ProduceResponse:
        code = left.pop(0) if left else ErrorCode.NONE
        return produce_answer(code, 7)

    return answer


async def test_retries_keep_their_sequences_and_go_in_order() -> None:
    broker = ScriptedBroker()
    broker.set_leader("t", 1, 0)
    broker.script[ApiKey.PRODUCE] = told(
        ErrorCode.NOT_ENOUGH_REPLICAS, *[ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER] * 2
    )
    async with scripted(broker), client_of(broker.address) as client:
        producer = client.producer()
        outcomes = [producer.submit("t", 0, [(None, b"v")]) for _ in range(3)]
        await producer.flush()
        assert [each.result() for each in outcomes] == [Delivered(7)] * 3
        assert sequences(broker) == [(1, 0), (1, 1), (1, 2), (1, 0), (1, 1), (1, 2)]
        assert producer.resets == 0


async def test_a_gap_in_the_log_makes_a_new_producer_that_sends_what_is_not_there() -> None:
    broker = ScriptedBroker()
    broker.set_leader("t", 1, 0)
    broker.script[ApiKey.PRODUCE] = told(*[ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER] * 2)
    async with scripted(broker), client_of(broker.address) as client:
        producer = client.producer()
        outcomes = [producer.submit("t", 0, [(None, b"v")]) for _ in range(2)]
        await producer.flush()
        assert sequences(broker) == [(1, 0), (1, 1), (2, 0), (2, 1)]
        assert [each.result() for each in outcomes] == [Delivered(7)] * 2
        assert producer.resets == 1


async def test_a_refusal_is_definite_and_those_behind_it_are_sent_again() -> None:
    async with running_node() as node, client_of(node.advertised) as client:
        await client.admin.create_topic("t", configs={"max.message.bytes": "500"})
        producer = client.producer()
        values = [b"a", b"x" * 2000, b"b", b"c"]
        outcomes = [producer.submit("t", 0, [(None, value)]) for value in values]
        await producer.flush()
        first, too_large, *rest = (each.result() for each in outcomes)
        assert isinstance(too_large, Failed)
        assert too_large.error == ErrorCode.MESSAGE_TOO_LARGE
        assert [first, *rest] == [Delivered(0), Delivered(1), Delivered(2)]
        assert await read_all(client) == [(0, b"a"), (1, b"b"), (2, b"c")]


async def test_the_new_leader_is_found_when_the_old_one_says_it_is_none() -> None:
    old, new = ScriptedBroker(1), ScriptedBroker(2)
    for broker in (old, new):
        broker.set_leader("t", 1, 0)

    async def refuse(message: Message) -> m.ProduceResponse:
        for broker in (old, new):
            broker.set_leader("t", 2, 1)
        return produce_answer(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    old.script[ApiKey.PRODUCE] = refuse
    new.script[ApiKey.PRODUCE] = told()
    async with scripted(old, new), client_of(old.address) as client:
        assert await client.producer().send("t", 0, b"v") == Delivered(7)
        assert sequences(old) == sequences(new) == [(1, 0)]


async def test_a_leader_named_in_the_refusal_is_believed_without_asking() -> None:
    old, new = ScriptedBroker(1), ScriptedBroker(2)
    for broker in (old, new):
        broker.set_leader("t", 1, 0)  # and metadata stays behind for ever

    async def refuse(message: Message) -> m.ProduceResponse:
        leader = m.ProduceResponseLeaderIdAndEpoch(leader_id=2, leader_epoch=5)
        return produce_answer(ErrorCode.NOT_LEADER_OR_FOLLOWER, current_leader=leader)

    old.script[ApiKey.PRODUCE] = refuse
    new.script[ApiKey.PRODUCE] = told()
    async with scripted(old, new), client_of(old.address) as client:
        assert await client.producer().send("t", 0, b"v") == Delivered(7)


async def test_no_answer_before_the_time_is_up_is_unknown() -> None:
    broker = ScriptedBroker()
    broker.set_leader("t", 1, 0)

    async def never(message: Message) -> None:
        return None

    broker.script[ApiKey.PRODUCE] = never
    settings = replace(HASTY, delivery_timeout_s=1.0)
    async with scripted(broker), client_of(broker.address, settings=settings) as client:
        outcome = await client.producer().send("t", 0, b"v")
        assert isinstance(outcome, Unknown)


async def test_a_batch_that_found_no_leader_has_certainly_failed() -> None:
    broker = ScriptedBroker()
    broker.set_leader("t", -1, 0)
    settings = replace(HASTY, delivery_timeout_s=1.0)  # long enough to be told so, on any machine
    async with scripted(broker), client_of(broker.address, settings=settings) as client:
        outcome = await client.producer().send("t", 0, b"v")
        assert outcome == Failed("t-0 has no leader")
        assert broker.count(ApiKey.PRODUCE) == 0


async def test_closing_says_what_is_known_of_every_batch() -> None:
    broker = ScriptedBroker()
    broker.set_leader("t", 1, 0)

    async def never(message: Message) -> None:
        return None

    broker.script[ApiKey.PRODUCE] = never
    async with scripted(broker), client_of(broker.address) as client:
        producer = client.producer()
        outcomes = [producer.submit("t", 0, [(None, b"v")]) for _ in range(7)]
        await wait_until(lambda: broker.count(ApiKey.PRODUCE) > 0)
        await producer.close()
        kinds = [type(each.result()) for each in outcomes]
        assert kinds == [Unknown] * 5 + [Failed] * 2
        with pytest.raises(ClientClosedError):
            await producer.send("t", 0, b"v")


@pytest.mark.parametrize("acks", [ACKS_NONE, ACKS_LEADER])
async def test_fewer_acks_and_no_numbers(acks: int) -> None:
    async with running_node() as node, client_of(node.advertised) as client:
        await client.admin.create_topic("t")
        producer = client.producer(ProducerSettings(acks=acks, idempotent=False))
        outcomes = [producer.submit("t", 0, [(b"k", b"%d" % at)]) for at in range(12)]
        await producer.flush()
        expected = [Delivered(-1 if acks == ACKS_NONE else at) for at in range(12)]
        assert [each.result() for each in outcomes] == expected
        reader = client.reader()
        async with asyncio.timeout(PATIENCE_S):
            while (await reader.list_offset("t", 0, LATEST)).offset < 12:  # noqa: ASYNC110
                await asyncio.sleep(0.002)
        assert await read_all(client) == [(at, b"%d" % at) for at in range(12)]


async def test_every_version_of_produce_and_fetch_can_be_spoken() -> None:
    async with running_node() as node, client_of(node.advertised) as client:
        await client.admin.create_topic("t")
        for at, version in enumerate(range(3, 14)):
            fetch = min(18, version + 1 if version < 13 else 18)
            pinned = replace(
                HASTY, versions=Versions({ApiKey.PRODUCE: version, ApiKey.FETCH: fetch})
            )
            async with client_of(node.advertised, settings=pinned) as old:
                assert await old.producer().send("t", 0, b"%d" % version) == Delivered(at)
                assert len(await read_all(old)) == at + 1


@pytest.mark.parametrize(
    ("settings", "told_why"),
    [({"acks": 2}, "acks is 2"), ({"acks": 1}, "an idempotent producer needs acks=all")],
)
def test_settings_that_contradict_each_other_are_refused(
    settings: dict[str, Any], told_why: str
) -> None:
    with pytest.raises(ValueError, match=told_why):
        ProducerSettings(**settings)
