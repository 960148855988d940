"""Requests are found wherever the reads happen to end."""

import asyncio
import gc
from random import Random

import pytest

from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.server.client_connection import ClientConnection
from tests.nodes import create_topic, produce_request, running_node, wait_until, wire
from tests.unit.broker.log.builders import batch


@pytest.mark.parametrize("cut", range(1, 12))
async def test_a_read_may_end_anywhere_even_inside_a_length(cut: int) -> None:
    async with running_node() as node, wire(node) as client:
        await create_topic(client, "t")
        frames = [
            client.frame(ApiKey.PRODUCE, 9, produce_request(batch(b"%d" % number)))
            for number in range(4)
        ]
        client.writer.write(frames[0] + frames[1][:cut])
        await client.answer(ApiKey.PRODUCE, 9)
        client.writer.write(frames[1][cut:] + frames[2] + frames[3])
        # Nothing more is sent: whoever waits for more bytes waits for ever.
        for offset in (1, 2, 3):
            _, answer = await client.answer(ApiKey.PRODUCE, 9)
            assert answer.responses[0].partition_responses[0].base_offset == offset


@pytest.mark.parametrize("seed", range(25))
async def test_every_request_of_a_stream_cut_at_random_is_answered_in_order(seed: int) -> None:
    random = Random(seed)
    async with running_node() as node, wire(node) as client:
        await create_topic(client, "t")
        asked: list[ApiKey] = []
        stream = b""
        for _ in range(60):
            if random.random() < 0.7:
                size = random.choice((1, 100, 5000, 70_000))
                body = produce_request(batch(b"x" * size))
                asked.append(ApiKey.PRODUCE)
                stream += client.frame(ApiKey.PRODUCE, 9, body)
            else:  # answered by a task, so that what follows has to wait
                part = m.ListOffsetsPartition(partition_index=0, timestamp=1)
                topics = [m.ListOffsetsTopic(name="t", partitions=[part])]
                asked.append(ApiKey.LIST_OFFSETS)
                stream += client.frame(ApiKey.LIST_OFFSETS, 7, m.ListOffsetsRequest(topics=topics))
        while stream:
            size = random.choice((1, 2, 3, 5, 60, 1100, 40_000, 300_000))
            client.writer.write(stream[:size])
            stream = stream[size:]
            for _ in range(random.randrange(4)):
                await asyncio.sleep(0)
        offset = 0
        for key in asked:
            _, answer = await client.answer(key, 9 if key == ApiKey.PRODUCE else 7)
            if key == ApiKey.PRODUCE:
                assert answer.responses[0].partition_responses[0].base_offset == offset
                offset += 1
        await wait_until(lambda: node.server.memory.used_bytes == 0)


async def test_a_request_of_a_client_that_is_gone_already_is_put_away(
    monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    """The client ends in the turn of the loop in which its request is read."""
    async with running_node() as node, wire(node) as client:
        await create_topic(client, "t")
        received = ClientConnection.received

        def receive_and_end(connection: ClientConnection, count: int) -> None:
            received(connection, count)
            connection.closed(None)
            connection.close()

        monkeypatch.setattr(ClientConnection, "received", receive_and_end)
        part = m.ListOffsetsPartition(partition_index=0, timestamp=1)
        topics = [m.ListOffsetsTopic(name="t", partitions=[part])]
        client.writer.write(
            client.frame(ApiKey.LIST_OFFSETS, 7, m.ListOffsetsRequest(topics=topics))
        )
        assert await client.is_closed()
    gc.collect()
    assert [str(each.message) for each in recwarn] == []
