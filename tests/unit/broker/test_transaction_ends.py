"""Decisions of a coordinator are carried out once for each transaction, and for the right one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from broker.coordination.keyed_shards import reply_of
from broker.coordination.shard import Shard, ShardState
from broker.coordination.step import Now, Step, Ticket
from broker.coordination.surroundings import ShardSettings, Surroundings
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode
from broker.transaction_ends import TransactionEnds
from broker.transactions.initialising import Asked
from broker.transactions.machine import ProducerPartitions, TransactionMachine
from broker.transactions.settings import TransactionSettings
from broker.transactions.state import TransactionState
from broker.transactions.transaction import CLASSIC, TopicPartition
from tests.unit.broker.coordination.notes import Stage, stage, until
from tests.unit.broker.led_partition import LED_HERE, fetch
from tests.virtual_time import in_virtual_time

_COMMIT_TIMEOUT_S = 1.0


class Coordinator:
    """A real shard of `__transaction_state` whose markers every partition takes at once.

    Implements `transaction_markers.Leaders`.
    """

    def __init__(self, on: Stage) -> None:
        self.on = on
        self.marked: list[str] = []
        """Topics of the markers, in the order in which they came."""
        self.ends = TransactionEnds(self, on.spawn)
        settings = ShardSettings(load_buffer_bytes=1 << 20, commit_timeout_s=_COMMIT_TIMEOUT_S)
        around = Surroundings(
            on.clock, on.spawn, settings, lambda _, step: self.ends.step_taken(self.shard, step)
        )
        self.shard: Shard[TransactionMachine] = Shard(
            on.partition, lambda: TransactionMachine(TransactionSettings()), around
        )

    def exists(self, partition: TopicPartition) -> bool:
        return True

    def leader_of(self, partition: TopicPartition) -> int | None:
        return 1

    async def write_markers(
        self, broker_id: int, body: m.WriteTxnMarkersRequest
    ) -> m.WriteTxnMarkersResponse:
        self.marked += [topic.name for marker in body.markers for topic in marker.topics]
        return m.WriteTxnMarkersResponse(
            markers=[
                m.WritableTxnMarkerResult(
                    producer_id=marker.producer_id,
                    topics=[
                        m.WritableTxnMarkerTopicResult(
                            name=topic.name,
                            partitions=[m.WritableTxnMarkerPartitionResult(partition_index=0)],
                        )
                        for topic in marker.topics
                    ],
                )
                for marker in body.markers
            ]
        )

    @property
    def state(self) -> TransactionState:
        return self.shard.machine.transactions["x"].state

    async def answered(self, run: Callable[[TransactionMachine, Ticket, Now], Step]) -> Any:
        """The reply, with followers that fetch what was written for it."""
        self.on.clock.time_ms += 1
        reply = self.shard.ask(run)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.replicate()
        return await reply_of(reply)

    def replicate(self) -> None:
        for follower in (1, 2):
            fetch(self.on.partition, follower, self.on.partition.log.end_offset)

    async def transaction(self, topic: str) -> None:
        """Committed by a client of the classic version; the markers are still to be sent."""
        added = ProducerPartitions("x", 7, 0, [(topic, 0)])
        commit = m.EndTxnRequest(
            transactional_id="x", producer_id=7, producer_epoch=0, committed=True
        )
        code = await self.answered(
            lambda machine, ticket, now: machine.add_partitions(ticket, added, CLASSIC, now)
        )
        assert code == ErrorCode.NONE
        ended = await self.answered(
            lambda machine, ticket, now: machine.end(ticket, commit, CLASSIC, None, now)
        )
        assert ended.error_code == ErrorCode.NONE


async def coordinator() -> Coordinator:
    made = Coordinator(await stage(LED_HERE))
    await until(lambda: made.shard.state is ShardState.ACTIVE)
    asked = Asked(transactional_id="x", timeout_ms=60_000, expected=None, fresh_id=7)
    answer = await made.answered(
        lambda machine, ticket, now: machine.init_producer_id(ticket, asked, now)
    )
    assert (answer.producer_id, answer.producer_epoch) == (7, 0)
    return made


@in_virtual_time
async def test_a_late_end_of_a_transaction_does_not_end_the_next_one() -> None:
    """The end of the first is not committed in time, so it is asked for again. Meanwhile the next
    transaction of the same producer and epoch is prepared, and has no marker yet."""
    here = await coordinator()
    await here.transaction("first")
    await until(lambda: here.state is TransactionState.COMPLETE_COMMIT)
    await asyncio.sleep(_COMMIT_TIMEOUT_S)  # no follower has it: the sender tries again soon
    here.replicate()
    await here.transaction("second")
    assert here.state is TransactionState.PREPARE_COMMIT
    await until(lambda: here.state is TransactionState.COMPLETE_COMMIT)
    assert here.marked == ["first", "second"]


def _initialised(expected: tuple[int, int] | None, machine: TransactionMachine) -> Step:
    asked = Asked(transactional_id="t", timeout_ms=1000, expected=expected, fresh_id=7)
    return machine.init_producer_id(Ticket(), asked, Now(0.0, 0))


def test_a_repeated_init_producer_id_is_answered_alike_and_written_once() -> None:
    machine = TransactionMachine(TransactionSettings())
    for expected in (None, (7, 0)):
        for record in _initialised(expected, machine).records:
            machine.replay(record)
    repeated = _initialised((7, 0), machine)
    assert repeated.replies[0].response.producer_epoch == 1
    assert not repeated.records
