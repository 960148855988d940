"""The proxy on real sockets: what passes it, and what becomes of a message that meets its fault."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable

import pytest

from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from harness.wire.match import (
    Delay,
    Drop,
    Duplicate,
    Matcher,
    MessageFault,
    ReplaceByError,
)
from harness.wire.proxy import Proxy
from tests.unit.harness.wire.builders import reply_frame, request_frame, tracker
from tests.unit.harness.wire.echo_brokers import (
    LOOPBACK,
    PATIENCE_S,
    answer_to,
    heartbeat,
    listening,
    number_of,
    stage,
)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - nobody tells us
            await asyncio.sleep(0.002)


async def test_requests_and_replies_pass_as_they_are() -> None:
    async with stage() as play:
        client = await play.client()
        client.send(heartbeat(1), heartbeat(2))
        assert [await client.reply(), await client.reply()] == [
            answer_to(heartbeat(1)),
            answer_to(heartbeat(2)),
        ]
        assert play.broker.got == [heartbeat(1), heartbeat(2)]


async def test_a_dropped_reply_breaks_its_connection_in_its_direction_only() -> None:
    async with stage() as play:
        matcher = Matcher(api="Heartbeat", direction="reply", client_id="tester", nth=3)
        play.proxy.add(MessageFault("third reply", matcher, Drop()))
        client, other = await play.client(), await play.client()
        assert [await client.ask(1), await client.ask(2)] == [1, 2]
        client.send(heartbeat(3))
        await until(lambda: play.proxy.hits("third reply") == 1)
        client.send(heartbeat(4))
        await until(lambda: play.broker.numbers == [1, 2, 3, 4])
        assert await other.ask(5) == 5
        client.writer.write_eof()
        assert await client.rest() == b""
        assert play.proxy.hits("third reply") == 1


async def test_a_dropped_request_never_arrives_nor_does_what_follows_it() -> None:
    async with stage() as play:
        fault = MessageFault("first", Matcher(api="Heartbeat", direction="request"), Drop())
        play.proxy.add(fault)
        client = await play.client()
        client.send(heartbeat(1), heartbeat(2))
        client.writer.write_eof()
        assert await client.rest() == b""
        assert play.broker.got == []
        assert await (await play.client()).ask(3) == 3


async def test_what_follows_a_delayed_message_waits_behind_it() -> None:
    async with stage() as play:
        matcher = Matcher(api="Heartbeat", direction="request")
        play.proxy.add(MessageFault("late", matcher, Delay(0.2)))
        client, other = await play.client(), await play.client()
        begun_s = asyncio.get_running_loop().time()
        client.send(heartbeat(1), heartbeat(2))
        await until(lambda: play.proxy.hits("late") == 1)
        assert await other.ask(3) == 3
        assert [number_of(await client.reply()), number_of(await client.reply())] == [1, 2]
        assert asyncio.get_running_loop().time() - begun_s >= 0.2
        assert play.broker.numbers == [3, 1, 2]


async def test_the_answer_to_a_late_request_is_seen_though_its_client_is_gone() -> None:
    async with stage() as play:
        matcher = Matcher(api="Heartbeat", direction="request")
        play.proxy.add(MessageFault("late", matcher, Delay(0.2)))
        client = await play.client()
        client.send(heartbeat(1))
        client.writer.close()
        await until(lambda: play.proxy.answers("late") == {"NONE": 1})
        assert play.broker.numbers == [1]


@pytest.mark.parametrize("after_s", [0.0, 0.05])
async def test_the_copy_of_a_request_arrives_and_its_reply_goes_to_nobody(after_s: float) -> None:
    async with stage() as play:
        play.proxy.add(MessageFault("twice", Matcher(api="Heartbeat"), Duplicate(after_s)))
        client = await play.client()
        assert await client.ask(1) == 1
        await until(lambda: play.broker.numbers == [1, 1])
        assert await client.ask(2) == 2
        assert play.broker.numbers == [1, 1, 2]


async def test_the_client_is_told_that_it_failed_though_it_was_done() -> None:
    async with stage() as play:
        code = ErrorCode.NOT_COORDINATOR
        play.proxy.add(MessageFault("no", Matcher(api="Heartbeat"), ReplaceByError(code)))
        client = await play.client()
        client.send(heartbeat(1))
        told = m.HeartbeatResponse(error_code=int(code))
        assert await client.reply() == reply_frame(ApiKey.HEARTBEAT, 4, told, 1)
        assert play.broker.numbers == [1]
        assert await client.ask(2) == 2


async def test_a_fault_that_was_removed_touches_nothing_and_keeps_its_count() -> None:
    async with stage() as play:
        play.proxy.add(
            MessageFault("all", Matcher(), ReplaceByError(ErrorCode.NOT_CONTROLLER), None)
        )
        client = await play.client()
        client.send(heartbeat(1))
        await client.reply()
        play.proxy.remove("all")
        client.send(heartbeat(2))
        assert await client.reply() == answer_to(heartbeat(2))
        assert play.proxy.hits("all") == 1


async def test_a_message_is_known_by_the_host_that_sent_it() -> None:
    async with stage(peer="n2") as play:
        play.proxy.add(MessageFault("of n3", Matcher(source="n3", target="n1"), Drop()))
        play.proxy.add(MessageFault("of n2", Matcher(source="n2", target="n1"), Delay(0.0)))
        assert await (await play.client()).ask(1) == 1
        assert (play.proxy.hits("of n3"), play.proxy.hits("of n2")) == (0, 1)


async def test_topic_ids_are_learned_before_anybody_asks() -> None:
    topic_id = bytes(range(16))
    topic = m.MetadataResponseTopic(name="t", topic_id=topic_id)
    asked = m.MetadataRequest(topics=None)
    connection = tracker()

    def answer(request: bytes) -> bytes:
        if connection.request(request).api_key == ApiKey.METADATA:
            return reply_frame(ApiKey.METADATA, 12, m.MetadataResponse(topics=[topic]), 1)
        return reply_frame(ApiKey.FETCH, 13, m.FetchResponse(), 2)

    async with stage(answer) as play:
        client = await play.client()
        client.send(request_frame(ApiKey.METADATA, 12, asked, 1))
        await client.reply()
        play.proxy.add(MessageFault("of t", Matcher(api="Fetch", topic="t"), Delay(0.0)))
        partition = m.FetchPartition(partition=0)
        fetch = m.FetchRequest(
            session_epoch=-1, topics=[m.FetchTopic(topic_id=topic_id, partitions=[partition])]
        )
        client.send(request_frame(ApiKey.FETCH, 13, fetch, 2))
        await client.reply()
        assert play.proxy.hits("of t") == 1


async def test_what_is_no_frame_passes_as_it_comes() -> None:
    async with stage() as play:
        client = await play.client()
        client.send(heartbeat(1))
        client.writer.write(b"\xff\xff\xff\xffno frame")
        assert number_of(await client.reply()) == 1
        client.writer.write_eof()
        await client.rest()
        assert play.broker.got[0] == heartbeat(1)


async def test_the_end_of_one_side_reaches_the_other() -> None:
    async with stage() as play:
        client = await play.client()
        await client.ask(1)
        for writer in play.broker.writers:
            writer.close()
        assert await client.rest() == b""


async def test_half_a_frame_goes_when_its_sender_does() -> None:
    heard: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.set_result(await reader.read())
        writer.close()

    async with stage() as play:
        server = await asyncio.start_server(listen, LOOPBACK, 0)
        play.broker.port = server.sockets[0].getsockname()[1]
        client = await play.client()
        client.writer.write(b"\x00\x00\x00\x20half")
        client.writer.write_eof()
        assert await heard == b"\x00\x00\x00\x20half"
        server.close()


async def test_a_reset_of_one_side_reaches_the_other() -> None:
    async with stage() as play:
        client = await play.client()
        await client.ask(1)
        writer = play.broker.writers[0]
        never_mind = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, never_mind)
        writer.transport.abort()
        with pytest.raises(ConnectionResetError):
            await client.rest()


async def test_where_no_broker_listens_the_client_is_reset() -> None:
    async with stage() as play:
        with socket.create_server((LOOPBACK, 0)) as gone:
            play.broker.port = gone.getsockname()[1]
        client = await play.client()
        with pytest.raises(ConnectionResetError):
            await client.rest()


async def test_nobody_answers_in_place_of_a_broker_that_stands_still() -> None:
    async with stage() as play:
        with socket.create_server((LOOPBACK, 0)) as silent:
            play.broker.port = silent.getsockname()[1]
            client = await play.client()
            client.send(heartbeat(1))
            loop = asyncio.get_running_loop()
            silent.setblocking(False)
            accepted, _ = await loop.sock_accept(silent)
            accepted.setblocking(False)
            assert len(await loop.sock_recv(accepted, 1 << 10)) == len(heartbeat(1)) + 4
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await client.reader.read(1)
            accepted.close()


async def test_who_leaves_a_node_takes_its_connections_along() -> None:
    async with stage() as play:
        client = await play.client()
        await client.ask(1)
        await play.proxy.leave("n1")
        with pytest.raises(ConnectionError):
            await client.rest()
        with pytest.raises(ConnectionRefusedError):
            await play.client()


async def test_a_sender_waits_for_a_slow_reader() -> None:
    """More than all buffers hold: some of it has to wait with its sender, and nothing is lost."""
    async with stage() as play:
        client = await play.client()
        play.proxy.add(
            MessageFault("late", Matcher(api="Heartbeat", direction="request"), Delay(0.1))
        )
        count = 30_000
        for number in range(count):
            client.send(heartbeat(number))
        replies = [number_of(await client.reply()) for _ in range(count)]
        assert replies == list(range(count))


async def test_a_proxy_without_brokers_ends_at_once() -> None:
    proxy = Proxy()
    proxy.stand_before("n1", listening(), _never)
    await proxy.close()
    await proxy.close()


async def _never() -> socket.socket:
    raise ConnectionRefusedError
