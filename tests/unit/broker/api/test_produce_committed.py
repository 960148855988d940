"""A produce with acks=all is answered when its batch is committed, or will not be."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

from broker.api.prepared_answer import PreparedAnswer
from broker.api.produce import produce
from broker.api.request import HERE, Request
from broker.node import Node
from broker.observe.metrics import Metrics
from broker.partition import Partition
from broker.protocol import codec, frames
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from broker.replication.leader import ACKS_ALL
from tests.unit.broker.led_partition import EPOCH, LED_HERE, append, fetch, leading
from tests.unit.broker.log.builders import batch
from tests.virtual_time import in_virtual_time

VERSION = 9
TIMEOUT_S = 5


def ignore(_held_bytes: int) -> None:
    pass


def node_with(*partitions: Partition) -> Node:
    known = SimpleNamespace(name=partitions[0].topic, partitions=[LED_HERE] * len(partitions))
    found = {partition.index: partition for partition in partitions}
    return cast(
        "Node",
        SimpleNamespace(
            metrics=Metrics(),
            partitions=SimpleNamespace(find=lambda topic, index: found.get(index)),
            server=SimpleNamespace(memory=SimpleNamespace(hold=ignore, let_go=ignore)),
            metadata=SimpleNamespace(image=SimpleNamespace(topic=lambda name: known)),
        ),
    )


def produced(partition: Partition, acks: int = ACKS_ALL) -> Any:
    """What the API gives: an answer, or a coroutine for one."""
    data = m.PartitionProduceData(index=partition.index, records=batch())
    topic = m.TopicProduceData(name=partition.topic, partition_data=[data])
    body = m.ProduceRequest(acks=acks, timeout_ms=TIMEOUT_S * 1000, topic_data=[topic])
    return produce(node_with(partition), Request(ApiKey.PRODUCE, VERSION, 7, "c", HERE, body))


def later(partition: Partition) -> asyncio.Task[Any]:
    answer = produced(partition)
    assert isinstance(answer, Coroutine)
    return asyncio.ensure_future(answer)


def told(answer: PreparedAnswer | m.ProduceResponse) -> m.PartitionProduceResponse:
    """As the client reads it, whichever way it was made."""
    if isinstance(answer, PreparedAnswer):
        frame = answer.frame(7)
    else:
        body = codec.encode_response(ApiKey.PRODUCE, VERSION, answer)
        frame = b"".join(frames.response_frame(ApiKey.PRODUCE, VERSION, 7, body))
    _, at = frames.decode_response_header(ApiKey.PRODUCE, VERSION, memoryview(frame)[4:])
    decoded, _ = codec.decode_response(ApiKey.PRODUCE, VERSION, memoryview(frame)[4:], at)
    part: m.PartitionProduceResponse = decoded.responses[0].partition_responses[0]
    return part


@in_virtual_time
async def test_it_is_answered_when_all_in_sync_have_it() -> None:
    partition = await leading()
    answers = [later(partition), later(partition)]
    await asyncio.sleep(1)
    fetch(partition, 1, 2)
    fetch(partition, 2, 1)
    await asyncio.sleep(1)
    assert [answer.done() for answer in answers] == [True, False]
    fetch(partition, 2, 2)
    found = [told(await answer) for answer in answers]
    assert [(each.error_code, each.base_offset) for each in found] == [(0, 0), (0, 1)]


@in_virtual_time
async def test_it_is_answered_at_once_where_nobody_follows() -> None:
    partition = await leading(replace(LED_HERE, replicas=(0,), isr=(0,)))
    answer = produced(partition)
    assert isinstance(answer, PreparedAnswer)
    assert told(answer).base_offset == 0


@in_virtual_time
async def test_time_runs_out() -> None:
    partition = await leading()
    begun = asyncio.get_running_loop().time()
    part = told(await later(partition))
    assert asyncio.get_running_loop().time() - begun == TIMEOUT_S
    assert (part.index, part.error_code) == (partition.index, ErrorCode.REQUEST_TIMED_OUT)
    assert part.base_offset == -1


@in_virtual_time
async def test_another_leader_leaves_it_open() -> None:
    partition = await leading()
    answer = later(partition)
    await partition.become(replace(LED_HERE, leader=1, leader_epoch=EPOCH + 1))
    assert told(await answer).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@in_virtual_time
async def test_too_few_in_sync_refuse_it_before_it_is_written() -> None:
    partition = await leading()
    partition.log.config = replace(partition.log.config, min_insync_replicas=2)
    partition.reconfigured()
    await partition.become(replace(LED_HERE, isr=(0,), partition_epoch=1))
    assert told(produced(partition)).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert partition.log.end_offset == 0
    assert told(produced(partition, acks=1)).error_code == 0


@in_virtual_time
async def test_a_later_leadership_of_the_same_node_does_not_vouch_for_the_record() -> None:
    """One partition's record is there at once; until the other's is, a lot may happen."""
    moved, slow = await leading(), await leading(directory="orders-1")
    may_go_on = asyncio.Event()

    async def wait_for_it() -> None:
        await may_go_on.wait()

    slow.before_append = wait_for_it
    data = [m.PartitionProduceData(index=each.index, records=batch()) for each in (moved, slow)]
    topic = m.TopicProduceData(name=moved.topic, partition_data=data)
    body = m.ProduceRequest(acks=ACKS_ALL, timeout_ms=TIMEOUT_S * 1000, topic_data=[topic])
    request = Request(ApiKey.PRODUCE, VERSION, 7, "c", HERE, body)
    answer = asyncio.ensure_future(cast("Any", produce(node_with(moved, slow), request)))
    await asyncio.sleep(1)
    await moved.become(replace(LED_HERE, leader=1, leader_epoch=EPOCH + 1))
    await moved.log.truncate_to(0)
    await moved.become(replace(LED_HERE, replicas=(0,), isr=(0,), leader_epoch=EPOCH + 2))
    append(moved)
    assert moved.is_committed(1)
    may_go_on.set()
    parts = (await answer).responses[0].partition_responses
    assert parts[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert parts[0].base_offset == -1
