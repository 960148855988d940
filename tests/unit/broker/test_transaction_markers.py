"""The sender of markers: to the right brokers, together, and until each partition has its own."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from broker.peers.channel import UnansweredError
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode
from broker.transaction_markers import Outgoing, TransactionMarkers
from broker.transactions.state import TransactionState
from broker.transactions.transaction import TopicPartition, Transaction
from tests.virtual_time import in_virtual_time

EPOCH = 7


class Cluster:
    """Implements `Leaders`. Answers are NONE unless `codes` says otherwise, once."""

    def __init__(self, leaders: dict[TopicPartition, int | None]) -> None:
        self.leaders = leaders
        self.codes: dict[TopicPartition, ErrorCode] = {}
        self.is_reachable = True
        self.sent: list[tuple[int, list[tuple[int, list[TopicPartition]]]]] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.markers: list[m.WritableTxnMarker] = []
        self.answers_in_s = 0.0
        self.in_flight = self.most_in_flight = 0

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self.tasks.append(asyncio.get_running_loop().create_task(work))

    def exists(self, partition: TopicPartition) -> bool:
        return partition in self.leaders

    def leader_of(self, partition: TopicPartition) -> int | None:
        return self.leaders[partition]

    async def write_markers(
        self, broker_id: int, body: m.WriteTxnMarkersRequest
    ) -> m.WriteTxnMarkersResponse:
        self.markers += body.markers
        held = [(each.producer_id, _partitions(each)) for each in body.markers]
        self.sent.append((broker_id, held))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        await asyncio.sleep(self.answers_in_s)
        self.in_flight -= 1
        if not self.is_reachable:
            raise UnansweredError("nobody is there")
        return m.WriteTxnMarkersResponse(markers=[self._result(each) for each in body.markers])

    def _result(self, marker: m.WritableTxnMarker) -> m.WritableTxnMarkerResult:
        topics: dict[str, list[m.WritableTxnMarkerPartitionResult]] = {}
        for topic, index in _partitions(marker):
            code = self.codes.pop((topic, index), ErrorCode.NONE)
            result = m.WritableTxnMarkerPartitionResult(partition_index=index, error_code=code)
            topics.setdefault(topic, []).append(result)
        return m.WritableTxnMarkerResult(
            producer_id=marker.producer_id,
            topics=[
                m.WritableTxnMarkerTopicResult(name=name, partitions=results)
                for name, results in topics.items()
            ],
        )


def _partitions(marker: m.WritableTxnMarker) -> list[TopicPartition]:
    return [(topic.name, each) for topic in marker.topics for each in topic.partition_indexes]


class Ending:
    """One transaction whose markers are sent."""

    def __init__(self, producer_id: int, *partitions: int, topic: str = "t") -> None:
        transaction = Transaction(
            transactional_id=f"x{producer_id}",
            producer_id=producer_id,
            producer_epoch=3,
            timeout_ms=1,
            state=TransactionState.PREPARE_COMMIT,
            partitions={(topic, each): None for each in partitions},
            updated_ms=0,
        )
        self.is_over = False
        self.times_done = 0
        self.outgoing = Outgoing(
            transaction, 0, EPOCH, lambda: self.is_over, self._done, dict(transaction.partitions)
        )

    def _done(self) -> None:
        self.times_done += 1


@in_virtual_time
async def test_transactions_of_one_turn_share_a_request_for_each_broker() -> None:
    cluster = Cluster({("t", 0): 1, ("t", 1): 2, ("t", 2): 1})
    sender = TransactionMarkers(cluster, cluster.spawn)
    endings = [Ending(10, 0, 1), Ending(11, 2, 0)]
    for each in endings:
        sender.send(each.outgoing)
    await asyncio.sleep(1)
    assert cluster.sent == [
        (1, [(10, [("t", 0)]), (11, [("t", 2), ("t", 0)])]),
        (2, [(10, [("t", 1)])]),
    ]
    assert [each.times_done for each in endings] == [1, 1]
    assert {(each.coordinator_epoch, each.producer_epoch) for each in cluster.markers} == {
        (EPOCH, 3)
    }


@in_virtual_time
async def test_a_marker_follows_the_leader_and_is_never_given_up() -> None:
    cluster = Cluster({("t", 0): None, ("t", 1): 1})
    cluster.codes = {("t", 1): ErrorCode.NOT_LEADER_OR_FOLLOWER}
    sender = TransactionMarkers(cluster, cluster.spawn)
    ending = Ending(10, 0, 1)
    sender.send(ending.outgoing)
    await asyncio.sleep(0.05)
    cluster.leaders["t", 1] = 2
    await asyncio.sleep(10)
    assert ending.times_done == 0
    assert cluster.sent == [(1, [(10, [("t", 1)])]), (2, [(10, [("t", 1)])])]
    cluster.leaders["t", 0] = 3
    cluster.is_reachable = False
    await asyncio.sleep(10)
    assert len(cluster.sent) > 20
    assert ending.times_done == 0
    cluster.is_reachable = True
    await asyncio.sleep(1)
    assert ending.times_done == 1
    assert cluster.sent[-1] == (3, [(10, [("t", 0)])])


@in_virtual_time
async def test_a_partition_that_is_gone_needs_no_marker() -> None:
    cluster = Cluster({("t", 0): 1})
    cluster.codes = {("t", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    sender = TransactionMarkers(cluster, cluster.spawn)
    gone, going, empty = Ending(10, 0, topic="gone"), Ending(11, 0), Ending(12)
    for each in (gone, going, empty):
        sender.send(each.outgoing)
    await asyncio.sleep(0.01)
    assert [each.times_done for each in (gone, going, empty)] == [1, 0, 1]
    del cluster.leaders["t", 0]
    await asyncio.sleep(1)
    assert going.times_done == 1
    assert len(cluster.sent) == 1


@in_virtual_time
async def test_a_marker_that_a_later_coordinator_has_overtaken_is_not_sent_again() -> None:
    cluster = Cluster({("t", 0): 1, ("t", 1): 1})
    cluster.codes = {("t", 1): ErrorCode.TRANSACTION_COORDINATOR_FENCED}
    sender = TransactionMarkers(cluster, cluster.spawn)
    ending = Ending(10, 0, 1)
    sender.send(ending.outgoing)
    await asyncio.sleep(10)
    assert (len(cluster.sent), ending.times_done) == (1, 0)


@in_virtual_time
async def test_a_partition_that_refuses_its_marker_does_not_keep_it_from_others() -> None:
    cluster = Cluster({("t", 0): 1, ("t", 1): 1})
    cluster.codes = {
        ("t", 0): ErrorCode.NOT_ENOUGH_REPLICAS,
        ("t", 1): ErrorCode.TRANSACTION_COORDINATOR_FENCED,
    }
    sender = TransactionMarkers(cluster, cluster.spawn)
    ending = Ending(10, 0, 1)
    sender.send(ending.outgoing)
    await asyncio.sleep(0.05)
    cluster.codes = {}
    await asyncio.sleep(10)
    assert list(ending.outgoing.waiting) == [("t", 1)]


@in_virtual_time
async def test_a_transaction_ends_although_a_partition_has_a_later_epoch_of_its_producer() -> None:
    cluster = Cluster({("t", 0): 1, ("t", 1): 1})
    cluster.codes = {("t", 1): ErrorCode.INVALID_PRODUCER_EPOCH}
    sender = TransactionMarkers(cluster, cluster.spawn)
    ending = Ending(10, 0, 1)
    sender.send(ending.outgoing)
    await asyncio.sleep(10)
    assert (len(cluster.sent), ending.times_done) == (1, 1)


@in_virtual_time
async def test_a_leadership_that_is_over_sends_nothing_more() -> None:
    cluster = Cluster({("t", 0): 1, ("t", 1): None})
    cluster.answers_in_s = 1.0
    sender = TransactionMarkers(cluster, cluster.spawn)
    ending = Ending(10, 0, 1)
    sender.send(ending.outgoing)
    await asyncio.sleep(0.5)
    ending.is_over = True
    cluster.leaders["t", 1] = 1
    await asyncio.sleep(10)
    assert (len(cluster.sent), ending.times_done) == (1, 0)


@in_virtual_time
async def test_many_partitions_are_sent_in_pieces() -> None:
    cluster = Cluster({("t", each): 1 for each in range(3000)})
    cluster.answers_in_s = 0.1
    sender = TransactionMarkers(cluster, cluster.spawn)
    ending = Ending(10, *range(3000))
    sender.send(ending.outgoing)
    await asyncio.sleep(10)
    sizes = [sum(len(each) for _, each in held) for _, held in cluster.sent]
    assert (sum(sizes), max(sizes), ending.times_done) == (3000, 400, 1)
    assert cluster.most_in_flight == 5
