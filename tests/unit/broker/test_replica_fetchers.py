"""One fetcher for each leader that is followed: begun, moved and ended as leaders change."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from random import Random
from typing import Any, cast

from broker.metadata.partition_info import PartitionInfo
from broker.network.interface import Address
from broker.partition import Partition
from broker.replica_fetcher import FetcherSettings
from broker.replica_fetchers import FetcherWorld, ReplicaFetchers
from broker.replication.follower import Question
from tests.unit.broker.peers.fake_network import FakeNetwork
from tests.virtual_time import in_virtual_time

SETTINGS = FetcherSettings(
    node_id=1,
    timeout_s=30.0,
    wait_max_ms=500,
    min_bytes=1,
    partition_bytes=1000,
    response_bytes=5000,
)


class FakePartition:
    topic, topic_id = "t", b"t" * 16

    def __init__(self, index: int, leader: int) -> None:
        self.index = index
        self.leader: object | None = None
        self.leader_epoch = 0
        self.info: PartitionInfo | None = None
        self.led_by(leader)

    def led_by(self, leader: int) -> None:
        self.info = PartitionInfo(replicas=(1, 2, 3), isr=(1, 2, 3), leader=leader)
        self.leader = object() if leader == SETTINGS.node_id else None
        self.leader_epoch += 1

    def question(self) -> Question:
        return Question(0, -1, 0, 0)


class Stage:
    def __init__(self) -> None:
        self.network = FakeNetwork()
        self.addresses = {2: Address("n2", 9092), 3: Address("n3", 9092)}
        self.tasks: list[asyncio.Task[None]] = []
        self.held: list[FakePartition] = []
        self.fetchers = ReplicaFetchers(
            SETTINGS,
            FetcherWorld(
                network=self.network,
                random=Random(1),
                spawn=self._spawn,
                address_of=self.addresses.get,
                broker_epoch=lambda: 101,
                rest_max_s=1.0,
            ),
        )

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        self.tasks.append(asyncio.get_running_loop().create_task(work))
        return self.tasks[-1]

    async def hold(self, index: int, leader: int) -> FakePartition:
        partition = FakePartition(index, leader)
        self.held.append(partition)
        await self.tell_of(partition)
        return partition

    async def move(self, partition: FakePartition, leader: int) -> None:
        partition.led_by(leader)
        await self.tell_of(partition)

    async def tell_of(self, partition: FakePartition, is_held: bool = True) -> None:
        self.fetchers.role_changed(cast("Partition", partition), is_held)
        await asyncio.sleep(0.5)

    async def addresses_changed(self) -> None:
        self.fetchers.addresses_changed(lambda: cast("list[Partition]", self.held))
        await asyncio.sleep(0.5)

    def fetched(self) -> dict[str, list[int]]:
        """Of each host that a connection leads to: the partitions in its last fetch."""
        found: dict[str, list[int]] = {}
        for asked in self.network.asked:
            if not asked.connection.is_closed:
                found[asked.connection.peer.host] = [
                    part.partition for topic in asked.body.topics for part in topic.partitions
                ]
        return found

    @property
    def running(self) -> int:
        return sum(not each.done() for each in self.tasks)


@in_virtual_time
async def test_all_partitions_of_one_leader_are_fetched_together() -> None:
    stage = Stage()
    for index, leader in enumerate((2, 2, 3, 2)):
        await stage.hold(index, leader)
    assert stage.fetched() == {"n2": [0, 1, 3], "n3": [2]}
    assert stage.running == 2


@in_virtual_time
async def test_what_this_node_leads_or_nobody_does_is_fetched_from_nobody() -> None:
    stage = Stage()
    await stage.hold(0, 1)
    await stage.hold(1, -1)
    assert (stage.fetched(), stage.running) == ({}, 0)


@in_virtual_time
async def test_a_new_leader_is_followed_and_the_old_one_let_go() -> None:
    stage = Stage()
    partition = await stage.hold(0, 2)
    await stage.move(partition, 3)
    assert (stage.fetched(), stage.running) == ({"n3": [0]}, 1)
    await stage.move(partition, 1)
    assert (stage.fetched(), stage.running) == ({}, 0)


@in_virtual_time
async def test_the_same_leader_in_a_new_epoch_is_asked_at_once_and_else_left_alone() -> None:
    stage = Stage()
    partition = await stage.hold(0, 2)
    held = stage.network.asked[-1]
    await stage.tell_of(partition)  # something else about it has changed
    assert not held.connection.is_closed
    assert stage.network.asked[-1] is held
    await stage.move(partition, 2)
    assert held.connection.is_closed
    assert stage.fetched() == {"n2": [0]}


@in_virtual_time
async def test_a_partition_that_is_gone_is_forgotten() -> None:
    stage = Stage()
    partition = await stage.hold(0, 2)
    await stage.tell_of(partition, is_held=False)
    assert (stage.fetched(), stage.running) == ({}, 0)


@in_virtual_time
async def test_a_leader_that_comes_back_elsewhere_is_followed_there() -> None:
    stage = Stage()
    await stage.hold(0, 2)
    await stage.hold(1, 3)
    stage.addresses[2] = Address("elsewhere", 9092)
    await stage.addresses_changed()
    assert stage.fetched() == {"elsewhere": [0], "n3": [1]}
    assert stage.running == 2


@in_virtual_time
async def test_a_leader_whose_address_is_not_known_yet_is_followed_when_it_is() -> None:
    stage = Stage()
    del stage.addresses[2]
    await stage.hold(0, 2)
    assert (stage.fetched(), stage.running) == ({}, 0)
    stage.addresses[2] = Address("n2", 9092)
    await stage.addresses_changed()
    assert stage.fetched() == {"n2": [0]}


@in_virtual_time
async def test_an_end_closes_all_connections() -> None:
    stage = Stage()
    await stage.hold(0, 2)
    await stage.hold(1, 3)
    stage.fetchers.close()
    await asyncio.sleep(0.1)
    assert all(each.is_closed for each in stage.network.connections)
    assert (len(stage.network.connections) >= 2, stage.running) == (True, 0)


@in_virtual_time
async def test_who_is_closed_follows_nobody_any_more() -> None:
    """A node that stops hears of new leaders while its logs are being closed."""
    stage = Stage()
    first, second = await stage.hold(0, 2), await stage.hold(1, 1)
    stage.fetchers.close()
    await stage.move(first, 3)
    await stage.move(second, 2)
    await stage.addresses_changed()
    assert stage.running == 0
