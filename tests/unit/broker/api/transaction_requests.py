"""A transactional producer, request by request, at the handlers of one node."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from broker.api.add_offsets_to_txn import add_offsets_to_txn
from broker.api.add_partitions_to_txn import add_partitions_to_txn
from broker.api.describe_transactions import describe_transactions
from broker.api.end_txn import end_txn
from broker.api.find_coordinator import find_coordinator
from broker.api.init_producer_id import init_producer_id
from broker.coordination.shard import ShardState
from broker.log.record_check import WorkBudget
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.batch import TRANSACTIONAL
from broker.protocol.errors import ErrorCode
from broker.protocol.records import Record, build_batch
from tests.unit.broker.api.nodes import ask

CLASSIC_END, BUMPING_END = 4, 5
CLASSIC_ADD, BROKERS_ADD = 3, 5
TIMEOUT_MS = 60_000


@dataclass
class TransactionClient:
    node: Node
    transactional_id: str = "tx"
    producer_id: int = -1
    epoch: int = -1

    async def find(self) -> None:
        """Until the coordinator has loaded its partition."""
        body = m.FindCoordinatorRequest(key_type=1, coordinator_keys=[self.transactional_id])
        answer: Any = find_coordinator(self.node, ask(ApiKey.FIND_COORDINATOR, body, version=4))
        if asyncio.iscoroutine(answer):
            answer = await answer
        coordinators = self.node.transactions
        index = coordinators.by_id.partition_of(self.transactional_id)
        for _ in range(1000):
            shard = coordinators.shards.find(index)
            if shard is not None and shard.state is ShardState.ACTIVE:
                return
            await asyncio.sleep(0)
        raise AssertionError("the coordinator has no shard")

    async def init(
        self, *, timeout_ms: int = TIMEOUT_MS, goes_on: bool = False, version: int = 5
    ) -> ErrorCode:
        body = m.InitProducerIdRequest(
            transactional_id=self.transactional_id,
            transaction_timeout_ms=timeout_ms,
            producer_id=self.producer_id if goes_on else -1,
            producer_epoch=self.epoch if goes_on else -1,
        )
        answer = await init_producer_id(
            self.node, ask(ApiKey.INIT_PRODUCER_ID, body, version=version)
        )
        if not answer.error_code:
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
        return ErrorCode(answer.error_code)

    async def init_until_done(self) -> None:
        for _ in range(1000):
            code = await self.init()
            if not code:
                return
            assert code == ErrorCode.CONCURRENT_TRANSACTIONS
            await asyncio.sleep(0)
        raise AssertionError("the transaction before does not end")

    async def add(
        self, *partitions: int, topic: str = "t", version: int = CLASSIC_ADD
    ) -> list[ErrorCode]:
        topics = [m.AddPartitionsToTxnTopic(name=topic, partitions=list(partitions))]
        body = m.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=topics,
        )
        answer = await add_partitions_to_txn(
            self.node, ask(ApiKey.ADD_PARTITIONS_TO_TXN, body, version=version)
        )
        return _codes(answer.results_by_topic_v3_and_below)

    async def add_for(
        self, *partitions: int, topic: str = "t", verify_only: bool = False
    ) -> list[ErrorCode]:
        """As the leader of the partitions does."""
        each = m.AddPartitionsToTxnTransaction(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            verify_only=verify_only,
            topics=[m.AddPartitionsToTxnTopic(name=topic, partitions=list(partitions))],
        )
        body = m.AddPartitionsToTxnRequest(transactions=[each])
        answer = await add_partitions_to_txn(
            self.node, ask(ApiKey.ADD_PARTITIONS_TO_TXN, body, version=BROKERS_ADD)
        )
        [result] = answer.results_by_transaction
        assert result.transactional_id == self.transactional_id
        return _codes(result.topic_results)

    async def add_offsets(self, group_id: str, version: int = 3) -> ErrorCode:
        body = m.AddOffsetsToTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            group_id=group_id,
        )
        answer = await add_offsets_to_txn(
            self.node, ask(ApiKey.ADD_OFFSETS_TO_TXN, body, version=version)
        )
        return ErrorCode(answer.error_code)

    async def end(self, *, commit: bool, version: int = CLASSIC_END) -> ErrorCode:
        body = m.EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            committed=commit,
        )
        answer = await end_txn(self.node, ask(ApiKey.END_TXN, body, version=version))
        if not answer.error_code and version >= BUMPING_END:
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
        return ErrorCode(answer.error_code)

    def write(self, partition: int, sequence: int, topic: str = "t") -> int:
        """One record of the transaction; gives its offset."""
        batch = build_batch(
            [Record(0, 1_700_000_000_000, b"k", b"v")],
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=sequence,
            attributes=TRANSACTIONAL,
        )
        found = self.node.partitions.find(topic, partition)
        assert found is not None
        appended = found.append_at_once(memoryview(batch), WorkBudget())
        assert appended is not None
        return appended.base_offset

    async def described(self) -> m.DescribeTransactionsResponseTransactionState:
        body = m.DescribeTransactionsRequest(transactional_ids=[self.transactional_id])
        answer = await describe_transactions(self.node, ask(ApiKey.DESCRIBE_TRANSACTIONS, body))
        [state] = answer.transaction_states
        return state

    async def until(self, *states: str) -> str:
        """Until the transaction is in one of these states."""
        state = ""
        for _ in range(1000):
            state = (await self.described()).transaction_state
            if state in states:
                return state
            await asyncio.sleep(0)
        raise AssertionError(f"{state}, never one of {states}")


def _codes(topics: list[m.AddPartitionsToTxnTopicResult]) -> list[ErrorCode]:
    return [
        ErrorCode(each.partition_error_code)
        for topic in topics
        for each in topic.results_by_partition
    ]
