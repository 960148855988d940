"""The active controller: one decision after the other, silent brokers fenced, nothing half-way."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

import pytest

from broker.api.broker_registration import broker_registration
from broker.disk.memory import MemoryDisk
from broker.metadata.changes import Change
from broker.metadata.image import ConflictError
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode, KafkaError
from broker.quorum.quorum import NotLeaderError
from broker.raft import events as e
from tests.nodes import wait_until
from tests.unit.broker.api.nodes import ask, running_node
from tests.unit.broker.api.other_brokers import beat, let_in, register
from tests.unit.broker.quorum.metadata import topic

SESSION_S = 0.3
PROPERTIES = {
    "broker.session.timeout.ms": str(int(SESSION_S * 1000)),
    "broker.heartbeat.interval.ms": "50",
}


def is_fenced(node: Node, broker_id: int) -> bool:
    return node.metadata.image.brokers[broker_id].fenced


async def test_a_broker_that_falls_silent_is_fenced_and_one_that_beats_is_not() -> None:
    async with running_node(PROPERTIES) as node:
        await let_in(node, 2)
        epoch = await let_in(node, 3)
        until = asyncio.get_running_loop().time() + 4 * SESSION_S
        while asyncio.get_running_loop().time() < until:
            await beat(node, 3, epoch)
            await asyncio.sleep(0.02)
        assert (is_fenced(node, 2), is_fenced(node, 3), is_fenced(node, 1)) == (True, False, False)


async def test_another_broker_of_the_same_number_is_refused_while_the_first_lives() -> None:
    async with running_node(PROPERTIES) as node:
        await let_in(node, 2)
        assert (await register(node, 2, b"j" * 16))[0] == ErrorCode.DUPLICATE_BROKER_REGISTRATION
        await wait_until(lambda: is_fenced(node, 2))
        assert (await register(node, 2, b"j" * 16))[0] == ErrorCode.NONE


async def test_a_registration_of_another_cluster_is_refused() -> None:
    async with running_node() as node:
        body = m.BrokerRegistrationRequest(broker_id=2, cluster_id="another", listeners=[])
        answer = await broker_registration(node, ask(ApiKey.BROKER_REGISTRATION, body))
        assert answer.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
        assert 2 not in node.metadata.image.brokers


async def test_a_fencing_that_finds_no_room_is_made_when_there_is_some() -> None:
    disk = MemoryDisk()
    async with running_node(PROPERTIES, disks={"data": disk}) as node:
        await let_in(node, 2)
        disk.capacity_bytes = 0
        await asyncio.sleep(2 * SESSION_S)
        assert not is_fenced(node, 2)
        disk.capacity_bytes = None
        await wait_until(lambda: is_fenced(node, 2))
        assert not node.failed.done()


async def test_changes_that_contradict_the_image_are_refused_before_they_are_written() -> None:
    async with running_node() as node:
        await node.controller.decide(lambda: [topic("t")])
        end = node.quorum.log.end_offset
        with pytest.raises(ConflictError):
            await node.controller.decide(lambda: [topic("other"), topic("t")])
        assert node.quorum.log.end_offset == end
        assert list(node.metadata.image.topics) == ["t"]


async def test_who_decides_nothing_writes_nothing() -> None:
    async with running_node() as node:
        end = node.quorum.log.end_offset
        await node.controller.decide(tuple)
        assert node.quorum.log.end_offset == end


@asynccontextmanager
async def slow_node() -> AsyncIterator[tuple[Node, MemoryDisk]]:
    """A commit on its disk takes a while."""
    disk = MemoryDisk()
    async with running_node(disks={"data": disk}) as node:
        disk.slow("fdatasync", "__cluster_metadata-0/*", seconds=0.1)
        try:
            yield node, disk
        finally:
            disk.heal()


async def test_a_decision_sees_what_the_one_before_it_decided() -> None:
    async with slow_node() as (node, _):
        seen: list[list[str]] = []

        def decide(name: str) -> Sequence[Change]:
            seen.append(sorted(node.metadata.image.topics))
            return [topic(name)]

        await asyncio.gather(*(node.controller.decide(partial(decide, name)) for name in "abc"))
        assert seen == [[], ["a"], ["a", "b"]]


async def test_who_gives_up_waiting_does_not_let_the_next_decide_too_early() -> None:
    async with slow_node() as (node, _):
        impatient = asyncio.ensure_future(node.controller.decide(lambda: [topic("a")]))
        await asyncio.sleep(0.03)
        impatient.cancel()
        seen: list[list[str]] = []

        def decide() -> Sequence[Change]:
            seen.append(sorted(node.metadata.image.topics))
            return [topic("b")]

        await node.controller.decide(decide)
        assert seen == [["a"]]
        assert not node.failed.done()


async def test_who_gives_up_before_its_turn_decides_nothing() -> None:
    async with slow_node() as (node, _):
        first = asyncio.ensure_future(node.controller.decide(lambda: [topic("a")]))
        await asyncio.sleep(0.02)
        impatient = asyncio.ensure_future(node.controller.decide(lambda: [topic("b")]))
        await asyncio.sleep(0.02)
        impatient.cancel()
        await first
        await node.controller.decide(lambda: [topic("c")])
        assert sorted(node.metadata.image.topics) == ["a", "c"]


async def test_whoever_asks_of_the_quorum_and_goes_leaves_nothing_half_done() -> None:
    """A follower's fetch that moves the high watermark, and whose connection ends."""
    async with running_node() as node:
        before = node.quorum.raft.epoch
        async with node.quorum.stepping():
            asking = asyncio.ensure_future(node.quorum.step(e.Resign()))
            await asyncio.sleep(0)
            asking.cancel()
            await asyncio.sleep(0)
        await wait_until(lambda: not node.controller.is_active)
        assert node.quorum.raft.epoch >= before


async def test_one_that_leads_no_more_decides_nothing() -> None:
    async with running_node() as node:
        await node.quorum.step(e.Resign())
        called = False

        def decide() -> Sequence[Change]:
            nonlocal called
            called = True
            return [topic("t")]

        with pytest.raises(NotLeaderError):
            await node.controller.decide(decide)
        assert not called
        with pytest.raises(KafkaError) as refused:
            await node.change(decide)
        assert refused.value.code == ErrorCode.NOT_CONTROLLER
        assert (await beat(node, 1, 0)).error_code == ErrorCode.NOT_CONTROLLER


async def test_a_disk_that_fails_to_make_a_decision_durable_ends_the_node() -> None:
    disk = MemoryDisk()
    async with running_node(disks={"data": disk}) as node:
        disk.fail("fdatasync", "__cluster_metadata-0/*", error=errno.EIO)
        with pytest.raises(KafkaError):
            await node.controller.decide(lambda: [topic("a")])
        assert node.failed.done()
        disk.heal()
