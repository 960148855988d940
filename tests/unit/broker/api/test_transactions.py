"""Transactions from the first request to the last marker, at the handlers of one node."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from broker.api.add_partitions_to_txn import add_partitions_to_txn
from broker.api.list_transactions import list_transactions
from broker.api.portions import PORTION
from broker.disk.memory import MemoryDisk
from broker.metadata.internal_topics import INTERNAL_TOPICS, TRANSACTIONS_TOPIC
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.batch import iterate_headers
from broker.protocol.control import read_marker
from broker.protocol.errors import ErrorCode
from broker.protocol.records import iterate_records
from tests.unit.broker.api.nodes import StillClock, ask, create_topic, running_node
from tests.unit.broker.api.transaction_requests import BUMPING_END, TransactionClient

PARTITIONS = {"transaction.state.log.num.partitions": "3"}


@asynccontextmanager
async def client_of_a_node(partitions: int = 3) -> AsyncIterator[tuple[Node, TransactionClient]]:
    async with running_node(PARTITIONS) as node:
        await create_topic(node, "t", partitions)
        client = TransactionClient(node)
        await client.find()
        assert await client.init() == ErrorCode.NONE
        yield node, client


def markers_in(node: Node, partition: int, topic: str = "t") -> list[tuple[bool, int]]:
    """Committed or not, and the producer's epoch, of each marker."""
    found = node.partitions.find(topic, partition)
    assert found is not None
    log = found.log
    piece = log.read(0, 1 << 20, up_to=log.end_offset, at_least_one=True)
    if piece is None:
        return []
    data = memoryview(piece.read())
    markers = []
    for position, header in iterate_headers(data):
        if header.is_control:
            batch = data[position : position + header.size]
            [record] = iterate_records(batch, header, max_bytes=1 << 20)
            marker = read_marker(record)
            assert marker is not None
            markers.append((marker.committed, header.producer_epoch))
    return markers


async def test_a_commit_writes_a_marker_to_every_partition() -> None:
    async with client_of_a_node() as (node, client):
        assert (client.epoch, client.producer_id >= 0) == (0, True)
        assert await client.add(0, 2) == [ErrorCode.NONE, ErrorCode.NONE]
        client.write(0, 0)
        client.write(2, 0)
        ongoing = await client.described()
        assert ongoing.transaction_state == "Ongoing"
        assert [(each.topic, each.partitions) for each in ongoing.topics] == [("t", [0, 2])]
        assert await client.end(commit=True) == ErrorCode.NONE
        await client.until("CompleteCommit")
        assert [markers_in(node, each) for each in range(3)] == [[(True, 0)], [], [(True, 0)]]
        for each in (0, 2):
            partition = node.partitions.find("t", each)
            assert partition is not None
            assert partition.log.last_stable_offset == partition.log.end_offset == 2


async def test_an_abort_does_too_and_the_next_transaction_keeps_the_epoch() -> None:
    async with client_of_a_node() as (node, client):
        await client.add(1)
        client.write(1, 0)
        assert await client.end(commit=False) == ErrorCode.NONE
        await client.until("CompleteAbort")
        assert await client.end(commit=False) == ErrorCode.NONE, "a repetition"
        assert await client.end(commit=True) == ErrorCode.INVALID_TXN_STATE
        await client.add(1)
        assert await client.end(commit=True) == ErrorCode.NONE
        await client.until("CompleteCommit")
        assert markers_in(node, 1) == [(False, 0), (True, 0)]


async def test_with_version_2_every_transaction_has_its_own_epoch() -> None:
    async with client_of_a_node() as (node, client):
        assert await client.add_for(1) == [ErrorCode.NONE]
        client.write(1, 0)
        assert await client.end(commit=True, version=BUMPING_END) == ErrorCode.NONE
        assert client.epoch == 1
        await client.until("CompleteCommit")
        assert await client.add_for(1) == [ErrorCode.NONE]
        client.write(1, 0)
        assert await client.end(commit=False, version=BUMPING_END) == ErrorCode.NONE
        assert client.epoch == 2
        await client.until("CompleteAbort")
        assert markers_in(node, 1) == [(True, 1), (False, 2)]


async def test_a_second_producer_ends_the_transaction_of_the_first() -> None:
    async with client_of_a_node() as (node, zombie):
        await zombie.add(0)
        zombie.write(0, 0)
        heir = TransactionClient(node)
        assert await heir.init() == ErrorCode.CONCURRENT_TRANSACTIONS
        await heir.init_until_done()
        assert (heir.producer_id, heir.epoch) == (zombie.producer_id, zombie.epoch + 2)
        assert await zombie.add(1) == [ErrorCode.PRODUCER_FENCED]
        assert await zombie.add(1, version=1) == [ErrorCode.INVALID_PRODUCER_EPOCH]
        assert await zombie.end(commit=True) == ErrorCode.PRODUCER_FENCED
        assert await zombie.end(commit=True, version=1) == ErrorCode.INVALID_PRODUCER_EPOCH
        assert markers_in(node, 0) == [(False, zombie.epoch + 1)]


async def test_a_partition_that_does_not_exist_keeps_all_out() -> None:
    async with client_of_a_node(partitions=2) as (_, client):
        assert await client.add(1, 2) == [
            ErrorCode.OPERATION_NOT_ATTEMPTED,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ]
        assert (await client.described()).transaction_state == "Empty"


async def test_a_client_cannot_add_a_topic_of_the_brokers() -> None:
    async with client_of_a_node() as (_, client):
        for topic in INTERNAL_TOPICS:
            assert await client.add(0, topic=topic) == [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
        assert (await client.described()).transaction_state == "Empty"
        assert await client.add_for(0, topic=TRANSACTIONS_TOPIC) == [ErrorCode.NONE]


async def test_more_transactions_than_are_asked_at_once_are_answered_in_their_order() -> None:
    async with client_of_a_node() as (node, client):
        names = [f"x{each}" for each in range(2 * PORTION)] + [client.transactional_id, ""]
        body = m.AddPartitionsToTxnRequest(
            transactions=[
                m.AddPartitionsToTxnTransaction(
                    transactional_id=each,
                    producer_id=client.producer_id,
                    producer_epoch=client.epoch,
                    topics=[m.AddPartitionsToTxnTopic(name="t", partitions=[0])],
                )
                for each in names
            ]
        )
        answer = await add_partitions_to_txn(node, ask(ApiKey.ADD_PARTITIONS_TO_TXN, body, 5))
        results = answer.results_by_transaction
        assert [each.transactional_id for each in results] == names
        codes = [
            each.topic_results[0].results_by_partition[0].partition_error_code for each in results
        ]
        assert codes[-2:] == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST]
        assert ErrorCode.NONE not in codes[:-2]


async def test_verification_adds_nothing() -> None:
    async with client_of_a_node() as (_, client):
        assert await client.add_for(0, verify_only=True) == [ErrorCode.TRANSACTION_ABORTABLE]
        await client.add(0)
        assert await client.add_for(0, 1, verify_only=True) == [
            ErrorCode.NONE,
            ErrorCode.TRANSACTION_ABORTABLE,
        ]
        assert [each.partitions for each in (await client.described()).topics] == [[0]]


async def test_the_offsets_of_a_group_join_the_transaction() -> None:
    async with client_of_a_node() as (_, client):
        assert await client.add_offsets("group") == ErrorCode.NONE
        [topic] = (await client.described()).topics
        assert topic.topic == "__consumer_offsets"
        assert await client.end(commit=True) == ErrorCode.NONE
        await client.until("CompleteCommit")  # the topic does not exist, so it needs no marker


async def test_the_first_producer_makes_the_topic() -> None:
    async with running_node(PARTITIONS) as node:
        assert node.transactions.topic is None
        await TransactionClient(node).find()
        topic = node.transactions.topic
        assert topic is not None
        assert len(topic.partitions) == 3
        configs = node.metadata.image.topic_configs("__transaction_state")
        assert configs["cleanup.policy"] == "compact"
        assert configs["min.insync.replicas"] == "2"


async def test_an_open_transaction_and_a_prepared_one_survive_a_restart() -> None:
    disk = MemoryDisk()
    names = ("open", "prepared")
    async with running_node(PARTITIONS, {"data": disk}) as node:
        await create_topic(node, "t", 2)
        clients = [TransactionClient(node, name) for name in names]
        for index, each in enumerate(clients):
            await each.find()
            await each.init()
            await each.add(index)
            each.write(index, 0)
        node.transactions._ends.close()  # no marker is sent any more
        assert await clients[1].end(commit=True) == ErrorCode.NONE
        assert await clients[1].add(0) == [ErrorCode.CONCURRENT_TRANSACTIONS]
    async with running_node(PARTITIONS, {"data": disk}) as node:
        for each in clients:
            each.node = node
            await each.find()
        await clients[1].until("CompleteCommit")
        assert markers_in(node, 1) == [(True, 0)]
        assert (await clients[0].described()).transaction_state == "Ongoing"
        assert await clients[0].end(commit=False) == ErrorCode.NONE
        await clients[0].until("CompleteAbort")


async def listed(node: Node, **asked: Any) -> m.ListTransactionsResponse:
    body = m.ListTransactionsRequest(**{"state_filters": [], "producer_id_filters": []} | asked)
    return await list_transactions(node, ask(ApiKey.LIST_TRANSACTIONS, body))


async def test_transactions_are_listed_by_what_they_are() -> None:
    async with client_of_a_node() as (node, client):
        other = TransactionClient(node, "other")
        await other.init()
        await other.add(0)

        async def names(**asked: Any) -> list[str]:
            answer = await listed(node, **asked)
            assert answer.error_code == ErrorCode.NONE
            return sorted(each.transactional_id for each in answer.transaction_states)

        assert await names() == ["other", "tx"]
        assert await names(state_filters=["Ongoing"]) == ["other"]
        assert await names(producer_id_filters=[client.producer_id]) == ["tx"]
        assert await names(transactional_id_pattern="o.*") == ["other"]
        assert await names(transactional_id_pattern="x") == []
        clock = node.world.clock
        assert isinstance(clock, StillClock)
        clock.time_ms += 5000
        assert await names(state_filters=["Ongoing"], duration_filter=4999) == ["other"]
        assert await names(state_filters=["Ongoing"], duration_filter=5000) == []
        assert (await listed(node, state_filters=["nope"])).unknown_state_filters == ["nope"]
        refused = await listed(node, transactional_id_pattern="(")
        assert refused.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
