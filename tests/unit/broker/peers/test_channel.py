"""Requests to another node: each gets its own answer, or one clear word that there is none."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from broker.network.interface import Address
from broker.peers.channel import Channel, UnansweredError
from broker.protocol import messages as m
from broker.protocol.apis import API_VERSIONS, ApiKey
from tests.unit.broker.peers.fake_network import FakeNetwork
from tests.virtual_time import in_virtual_time

THERE = Address("there", 9093)
BEAT = ApiKey.BROKER_HEARTBEAT


def channel_on(network: FakeNetwork) -> Channel:
    return Channel(
        network,
        THERE,
        client_id="of-a-test",
        random=Random(1),
        backoff_s=0.1,
        backoff_max_s=1.0,
    )


def beat(broker_id: int = 1) -> m.BrokerHeartbeatRequest:
    return m.BrokerHeartbeatRequest(broker_id=broker_id, broker_epoch=5)


def asking(channel: Channel, broker_id: int = 1, timeout_s: float = 2.0) -> asyncio.Future[Any]:
    return asyncio.ensure_future(channel.ask(BEAT, beat(broker_id), timeout_s=timeout_s))


def now() -> float:
    return asyncio.get_running_loop().time()


async def unanswered(waiting: asyncio.Future[Any]) -> UnansweredError:
    with pytest.raises(UnansweredError) as problem:
        await waiting
    return problem.value


@in_virtual_time
async def test_a_request_goes_out_in_the_newest_version_and_its_answer_comes_back() -> None:
    network = FakeNetwork()
    waiting = asking(channel_on(network))
    await asyncio.sleep(0.01)
    [asked] = network.asked
    assert (asked.api_key, asked.version, asked.client_id) == (
        BEAT,
        API_VERSIONS[BEAT][1],
        "of-a-test",
    )
    assert (asked.body.broker_id, asked.body.broker_epoch) == (1, 5)
    asked.answer(m.BrokerHeartbeatResponse(is_caught_up=True))
    assert (await waiting).is_caught_up


@in_virtual_time
async def test_answers_find_those_who_asked_in_whatever_order_they_come() -> None:
    network = FakeNetwork()
    channel = channel_on(network)
    waiting = [asking(channel, number) for number in range(4)]
    await asyncio.sleep(0.01)
    assert len(network.connections) == 1
    for asked in reversed(network.asked):
        asked.answer(m.BrokerHeartbeatResponse(throttle_time_ms=asked.body.broker_id))
    answers = await asyncio.gather(*waiting)
    assert [each.throttle_time_ms for each in answers] == [0, 1, 2, 3]


@in_virtual_time
async def test_no_answer_in_time_ends_the_connection_and_says_who_was_silent() -> None:
    network = FakeNetwork()
    channel = channel_on(network)
    problem = await unanswered(asking(channel, timeout_s=2.0))
    assert str(problem) == "there:9093 did not answer BROKER_HEARTBEAT within 2.0 s"
    assert not problem.was_refused
    assert now() == pytest.approx(2.0)
    assert network.connections[0].is_closed
    # The answer to an earlier question must not be taken for one to a later question.
    again = asking(channel)
    await asyncio.sleep(0.5)
    late, asked = network.asked
    assert late.connection is not asked.connection
    asked.answer(m.BrokerHeartbeatResponse(throttle_time_ms=2))
    assert (await again).throttle_time_ms == 2


@in_virtual_time
async def test_an_answer_that_takes_too_long_does_not_cost_the_others_theirs() -> None:
    network = FakeNetwork()
    channel = channel_on(network)
    slow, behind = asking(channel, 1, timeout_s=1.0), asking(channel, 2, timeout_s=5.0)
    await unanswered(slow)
    later = asking(channel, 3)
    await asyncio.sleep(1.0)
    assert [asked.body.broker_id for asked in network.asked] == [1, 2, 3]
    first, second = network.connections
    assert [each.connection for each in network.asked] == [first, first, second]
    for asked in network.asked:
        asked.answer(m.BrokerHeartbeatResponse(throttle_time_ms=asked.body.broker_id))
    assert (await behind).throttle_time_ms == 2
    assert (await later).throttle_time_ms == 3
    assert (first.is_closed, second.is_closed) == (True, False)


@in_virtual_time
async def test_whoever_waits_at_a_node_that_is_gone_gives_up_in_its_own_time() -> None:
    network = FakeNetwork()
    channel = channel_on(network)
    waiting = [asking(channel, number, timeout_s=number) for number in (1, 2)]
    await unanswered(waiting[0])
    channel.close()
    await unanswered(waiting[1])
    assert now() == pytest.approx(1.0)
    assert network.connections[0].is_closed


@in_virtual_time
async def test_a_connection_that_cannot_be_opened_in_time_is_given_up() -> None:
    network = FakeNetwork()
    network.hangs = True
    problem = await unanswered(asking(channel_on(network), timeout_s=1.0))
    assert "within 1.0 s" in str(problem)
    assert now() == pytest.approx(1.0)


@in_virtual_time
async def test_nobody_listening_is_told_apart_from_a_lost_connection() -> None:
    network = FakeNetwork(ConnectionRefusedError("nobody"))
    channel = channel_on(network)
    assert (await unanswered(asking(channel))).was_refused
    waiting = asking(channel)
    await asyncio.sleep(0.5)
    network.connections[0].lose(ConnectionResetError("gone"))
    problem = await unanswered(waiting)
    assert not problem.was_refused
    assert "gone" in str(problem)


@in_virtual_time
async def test_all_who_wait_hear_that_the_connection_is_lost() -> None:
    network = FakeNetwork()
    channel = channel_on(network)
    waiting = [asking(channel, number) for number in range(3)]
    await asyncio.sleep(0.01)
    network.connections[0].lose(None)
    for each in waiting:
        await unanswered(each)
    assert now() == pytest.approx(0.01)


@in_virtual_time
async def test_it_comes_back_after_longer_and_longer_pauses() -> None:
    network = FakeNetwork(*(ConnectionRefusedError("nobody") for _ in range(6)))
    channel = channel_on(network)
    for _ in range(6):
        await unanswered(asking(channel, timeout_s=10.0))
    waiting = asking(channel, timeout_s=10.0)
    await asyncio.sleep(2)
    network.asked[0].answer(m.BrokerHeartbeatResponse())
    await waiting
    attempts = network.attempts_at
    pauses = [later - earlier for earlier, later in pairwise(attempts)]
    for pause, expected in zip(pauses, [0.1, 0.2, 0.4, 0.8, 1.0, 1.0], strict=True):
        assert 0.8 * expected <= pause <= 1.2 * expected + 0.01


@in_virtual_time
async def test_after_an_answer_it_does_not_wait_long_for_a_new_connection() -> None:
    network = FakeNetwork(*(ConnectionRefusedError("nobody") for _ in range(6)))
    channel = channel_on(network)
    for _ in range(6):
        await unanswered(asking(channel, timeout_s=10.0))
    waiting = asking(channel, timeout_s=10.0)
    await asyncio.sleep(2)
    network.asked[0].answer(m.BrokerHeartbeatResponse())
    await waiting
    await asyncio.sleep(5)
    network.connections[0].lose(None)
    began = now()
    network.refusals = [ConnectionRefusedError("nobody"), ConnectionRefusedError("nobody")]
    for _ in range(2):
        await unanswered(asking(channel))
    assert now() - began <= 0.13


@pytest.mark.parametrize("content", [b"\x00\x00\x00\x01x", b"\xff\xff\xff\xff"])
@in_virtual_time
async def test_an_answer_of_nonsense_is_none(content: bytes) -> None:
    network = FakeNetwork()
    waiting = asking(channel_on(network))
    await asyncio.sleep(0.01)
    network.connections[0].bring(content)
    await unanswered(waiting)
    assert network.connections[0].is_closed


@in_virtual_time
async def test_an_answer_that_cannot_be_read_is_none() -> None:
    network = FakeNetwork()
    waiting = asking(channel_on(network))
    await asyncio.sleep(0.01)
    correlation_id = network.asked[0].correlation_id.to_bytes(4, "big")
    network.connections[0].bring(b"\x00\x00\x00\x07" + correlation_id + b"\x00\x01\x02")
    await unanswered(waiting)
    assert network.connections[0].is_closed


@in_virtual_time
async def test_an_answer_that_nobody_asked_for_is_let_go() -> None:
    network = FakeNetwork()
    waiting = asking(channel_on(network))
    await asyncio.sleep(0.01)
    [asked] = network.asked
    asked._replace(correlation_id=77).answer(m.BrokerHeartbeatResponse(throttle_time_ms=9))
    asked.answer(m.BrokerHeartbeatResponse(throttle_time_ms=1))
    assert (await waiting).throttle_time_ms == 1


@in_virtual_time
async def test_who_gives_up_leaves_the_others_their_answers() -> None:
    network = FakeNetwork()
    channel = channel_on(network)
    first, second = asking(channel, 1), asking(channel, 2)
    await asyncio.sleep(0.01)
    first.cancel()
    await asyncio.sleep(0.01)
    for asked in network.asked:
        asked.answer(m.BrokerHeartbeatResponse(throttle_time_ms=asked.body.broker_id))
    assert (await second).throttle_time_ms == 2


@in_virtual_time
async def test_a_closed_channel_opens_again_when_it_is_asked() -> None:
    network = FakeNetwork()
    channel = channel_on(network)
    channel.close()
    waiting = asking(channel)
    await asyncio.sleep(0.01)
    channel.close()
    await unanswered(waiting)
    again = asking(channel)
    await asyncio.sleep(1)
    network.asked[-1].answer(m.BrokerHeartbeatResponse())
    await again
    assert len(network.connections) == 2


@in_virtual_time
async def test_an_interruption_ends_the_wait_for_an_answer_at_once() -> None:
    network = FakeNetwork()
    channel = channel_on(network)
    waiting = asking(channel)
    await asyncio.sleep(0.01)
    channel.interrupt()
    await unanswered(waiting)
    assert now() == pytest.approx(0.01)
    again = asking(channel)
    await asyncio.sleep(1)
    network.asked[-1].answer(m.BrokerHeartbeatResponse())
    await again


@in_virtual_time
async def test_an_interruption_ends_the_wait_for_a_connection_at_once() -> None:
    network = FakeNetwork()
    network.hangs = True
    channel = channel_on(network)
    first, second = asking(channel, 1), asking(channel, 2)
    await asyncio.sleep(0.01)
    channel.interrupt()
    await unanswered(first)
    await unanswered(second)
    assert now() == pytest.approx(0.01)
    network.hangs = False
    again = asking(channel)
    await asyncio.sleep(1)
    network.asked[-1].answer(m.BrokerHeartbeatResponse())
    await again
