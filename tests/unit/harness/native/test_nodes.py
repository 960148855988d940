"""Connections: requests in a row, lanes, versions, and coming back after a loss."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from random import Random

import pytest

from broker.network.interface import Address
from broker.protocol import messages as m
from broker.protocol.apis import API_VERSIONS, ApiKey
from broker.protocol.errors import ErrorCode
from harness.native.errors import (
    ClientClosedError,
    ConnectionLostError,
    NodeUnreachableError,
    RequestTimedOutError,
    UnsupportedApiError,
)
from harness.native.settings import Backoff
from harness.native.versions import Versions
from harness.wire.message import Message
from tests.nodes import running_node, wait_until
from tests.unit.harness.native.client_worlds import HASTY, ScriptedBroker, client_of, scripted

CLUSTER = m.DescribeClusterRequest()
ANYWHERE = (Address("127.0.0.1", 1), Address("127.0.0.1", 2))
"""Two bootstrap addresses, -1 and -2, that nobody listens at."""


async def test_answers_find_their_askers() -> None:
    async with running_node() as node, client_of(node.advertised) as client:
        connection = await client.nodes.connection(-1)
        version = connection.version_of(ApiKey.DESCRIBE_CLUSTER)
        asked = [
            connection.ask(ApiKey.DESCRIBE_CLUSTER, version, CLUSTER, 5)
            if at % 2
            else connection.ask(ApiKey.METADATA, 12, m.MetadataRequest(topics=[]), 5)
            for at in range(10)
        ]
        answers = [type(await each).__name__ for each in asked]
        assert answers == ["MetadataResponse", "DescribeClusterResponse"] * 5
        assert connection.in_flight == 0


async def test_the_newest_version_of_both_is_spoken_unless_one_is_pinned() -> None:
    broker = ScriptedBroker()
    broker.served[ApiKey.FETCH] = (4, 11)
    broker.served[ApiKey.VOTE] = (90, 99)
    pinned = replace(HASTY, versions=Versions({ApiKey.METADATA: 9, ApiKey.PRODUCE: 99}))
    async with scripted(broker), client_of(broker.address, settings=pinned) as client:
        connection = await client.nodes.connection(-1)
        assert connection.version_of(ApiKey.FETCH) == 11
        assert connection.version_of(ApiKey.METADATA) == 9
        assert connection.version_of(ApiKey.LIST_OFFSETS) == API_VERSIONS[ApiKey.LIST_OFFSETS][1]
        for key in (ApiKey.PRODUCE, ApiKey.VOTE):
            with pytest.raises(UnsupportedApiError, match=f"serves {key.name} in versions"):
                connection.version_of(key)


async def test_a_broker_that_knows_only_the_oldest_introduction_is_understood() -> None:
    broker = ScriptedBroker()

    async def old(message: Message) -> m.ApiVersionsResponse | None:
        if message.api_version == 0:
            served = [m.ApiVersion(api_key=ApiKey.METADATA, min_version=0, max_version=5)]
            return m.ApiVersionsResponse(api_keys=served)
        return None

    broker.script[ApiKey.API_VERSIONS] = old
    pinned = replace(HASTY, versions=Versions({ApiKey.API_VERSIONS: 0}))
    async with scripted(broker), client_of(broker.address, settings=pinned) as client:
        connection = await client.nodes.connection(-1)
        assert connection.version_of(ApiKey.METADATA) == 5


async def test_a_lane_that_waits_holds_up_no_other() -> None:
    broker = ScriptedBroker()
    gate = asyncio.Event()

    async def wait(message: Message) -> m.DescribeClusterResponse:
        await gate.wait()
        return m.DescribeClusterResponse()

    broker.script[ApiKey.DESCRIBE_CLUSTER] = wait
    async with scripted(broker), client_of(broker.address) as client:
        slow = asyncio.create_task(
            client.nodes.ask(-1, ApiKey.DESCRIBE_CLUSTER, CLUSTER, lane="slow")
        )
        await wait_until(lambda: broker.count(ApiKey.DESCRIBE_CLUSTER) == 1)
        await client.metadata.refresh()
        assert not slow.done()
        gate.set()
        await slow


async def test_all_who_wait_learn_that_the_connection_is_gone_and_the_next_is_new() -> None:
    broker = ScriptedBroker()

    async def vanish(message: Message) -> None:
        if broker.count(ApiKey.DESCRIBE_CLUSTER) == 3:
            broker.cut()

    broker.script[ApiKey.DESCRIBE_CLUSTER] = vanish
    async with scripted(broker), client_of(broker.address) as client:
        connection = await client.nodes.connection(-1)
        version = connection.version_of(ApiKey.DESCRIBE_CLUSTER)
        asked = [connection.ask(ApiKey.DESCRIBE_CLUSTER, version, CLUSTER, 5) for _ in range(3)]
        results = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(each) for each in results] == [ConnectionLostError] * 3
        again = await client.nodes.connection(-1)
        assert again is not connection
        with pytest.raises(ConnectionLostError):
            await connection.ask(ApiKey.DESCRIBE_CLUSTER, version, CLUSTER, 5)


async def test_an_answer_that_does_not_come_ends_the_connection() -> None:
    broker = ScriptedBroker()

    async def never(message: Message) -> None:
        return None

    broker.script[ApiKey.DESCRIBE_CLUSTER] = never
    async with scripted(broker), client_of(broker.address) as client:
        with pytest.raises(RequestTimedOutError, match="does not answer DESCRIBE_CLUSTER"):
            await client.nodes.ask(-1, ApiKey.DESCRIBE_CLUSTER, CLUSTER, timeout_s=0.02)
        connection = await client.nodes.connection(-1)
        version = connection.version_of(ApiKey.DESCRIBE_CLUSTER)
        patient = connection.ask(ApiKey.DESCRIBE_CLUSTER, version, CLUSTER, 5)
        hasty = connection.ask(ApiKey.DESCRIBE_CLUSTER, version, CLUSTER, 0.02)
        results = await asyncio.gather(patient, hasty, return_exceptions=True)
        assert [type(each) for each in results] == [ConnectionLostError, RequestTimedOutError]


async def test_an_answer_in_time_leaves_nothing_behind_that_could_end_the_connection() -> None:
    problems: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, told: problems.append(told))
    async with running_node() as node, client_of(node.advertised) as client:
        await client.nodes.ask(-1, ApiKey.DESCRIBE_CLUSTER, CLUSTER, timeout_s=0.05)
        connection = await client.nodes.connection(-1)
        await asyncio.sleep(0.1)
        assert connection.is_open
    assert problems == []


async def test_nobody_at_home_is_a_definite_failure() -> None:
    broker = ScriptedBroker()
    async with scripted(broker):
        address = broker.address
    async with client_of(address) as client:
        with pytest.raises(NodeUnreachableError) as caught:
            await client.nodes.connection(-1)
        assert caught.value.is_definite
        with pytest.raises(NodeUnreachableError, match="its address is unknown"):
            await client.nodes.connection(5)


async def test_an_answer_in_no_known_form_ends_the_connection() -> None:
    async def garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await reader.read()
        writer.close()

    server = await asyncio.start_server(garbage, "127.0.0.1", 0)
    try:
        address = Address(*server.sockets[0].getsockname()[:2])
        async with client_of(address) as client:
            with pytest.raises(NodeUnreachableError):
                await client.nodes.connection(-1)
    finally:
        server.close()


async def test_a_closed_client_opens_nothing() -> None:
    broker = ScriptedBroker()
    async with scripted(broker):
        async with client_of(broker.address) as client:
            await client.nodes.connection(-1)
        with pytest.raises(ClientClosedError):
            await client.nodes.connection(-1)


def test_each_failure_doubles_the_pause_up_to_a_limit_give_or_take_a_fifth() -> None:
    backoff = Backoff(0.1, 1.0, Random(3))
    assert backoff.after(0) == 0.0
    for failures, expected in ((1, 0.1), (2, 0.2), (4, 0.8), (5, 1.0), (500, 1.0)):
        pauses = [backoff.after(failures) for _ in range(200)]
        assert 0.8 * expected <= min(pauses) < 0.9 * expected
        assert 1.1 * expected < max(pauses) <= 1.2 * expected


async def test_a_node_that_failed_is_asked_last_and_the_others_in_turn() -> None:
    brokers = [ScriptedBroker(node_id) for node_id in (1, 2, 3)]
    async with scripted(*brokers), client_of(brokers[0].address) as client:
        await client.metadata.refresh()
        firsts = [client.nodes.candidates()[0] for _ in range(6)]
        assert sorted(firsts) == [1, 1, 2, 2, 3, 3]
        await brokers[1].stop()
        with pytest.raises(NodeUnreachableError):
            await client.nodes.connection(2)
        assert {tuple(client.nodes.candidates()[2:]) for _ in range(6)} == {(2, -1)}


async def test_a_node_that_moved_is_found_at_its_new_address() -> None:
    first, second = ScriptedBroker(1), ScriptedBroker(1)
    async with scripted(first), scripted(second), client_of(first.address) as client:
        await client.metadata.refresh()
        old = await client.nodes.connection(1)
        first.brokers = [second]
        await client.metadata.refresh()
        assert not old.is_open
        assert str(second.address) in (await client.nodes.connection(1)).place


async def test_an_error_in_the_introduction_is_no_connection() -> None:
    broker = ScriptedBroker()

    async def refuse(message: Message) -> m.ApiVersionsResponse:
        return m.ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)

    broker.script[ApiKey.API_VERSIONS] = refuse
    async with scripted(broker), client_of(broker.address) as client:
        with pytest.raises(NodeUnreachableError, match="INVALID_REQUEST"):
            await client.nodes.connection(-1)


HURRY_S = 0.01


async def test_a_silent_node_is_left_for_another_before_its_time_is_up() -> None:
    asked: list[int] = []

    async def ask(node_id: int) -> int:
        asked.append(node_id)
        if node_id == -1:
            await asyncio.Event().wait()
        return node_id

    async with client_of(*ANYWHERE) as client:
        assert await client.nodes.first_answer(ask, 4 * HURRY_S) == -2
    assert asked == [-1, -2]


async def test_nodes_that_are_all_slow_are_given_their_whole_time_then() -> None:
    asked: list[int] = []

    async def ask(node_id: int) -> int:
        asked.append(node_id)
        if len(asked) <= len(ANYWHERE):
            await asyncio.Event().wait()
        # Longer than a node has in a hurry.
        await asyncio.sleep(2 * HURRY_S)
        return node_id

    async with client_of(*ANYWHERE) as client:
        assert await client.nodes.first_answer(ask, 4 * HURRY_S) == -1
    assert asked == [-1, -2, -1]


async def test_a_node_that_refuses_is_not_asked_again() -> None:
    asked: list[int] = []

    async def ask(node_id: int) -> int:
        asked.append(node_id)
        raise NodeUnreachableError(f"node {node_id}")

    async with client_of(*ANYWHERE) as client:
        with pytest.raises(NodeUnreachableError, match="node -2"):
            await client.nodes.first_answer(ask, 4 * HURRY_S)
    assert asked == [-1, -2]
