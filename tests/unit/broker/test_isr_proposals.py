"""Proposals for other in-sync replicas: together, one request at a time, until answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any, cast

import pytest

from broker.isr_proposals import IsrProposals
from broker.metadata.partition_info import PartitionInfo
from broker.partition import Partition
from broker.peers.backoff import Backoff
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from broker.replication.in_sync import IsrMember, IsrProposal
from tests.unit.broker.fake_controller import FakeController
from tests.virtual_time import in_virtual_time

ALTER = ApiKey.ALTER_PARTITION
INFO = PartitionInfo(replicas=(1, 2, 3), isr=(1, 2, 3), leader=1, leader_epoch=5, partition_epoch=8)


class FakeLeader:
    info = INFO


class FakePartition:
    """What a partition shows of itself here: one proposal in flight, and what became of it."""

    def __init__(self, topic: str, index: int) -> None:
        self.topic_id = topic.encode().ljust(16, b".")
        self.index = index
        self.leader: FakeLeader | None = FakeLeader()
        self.in_flight: IsrProposal | None = None
        self.accepted: list[PartitionInfo] = []
        self.refused: list[ErrorCode] = []
        self.gives_up_on: tuple[ErrorCode, ...] = ()

    def is_in_flight(self, proposal: IsrProposal) -> bool:
        return self.in_flight == proposal

    def proposal_accepted(self, proposal: IsrProposal, answered: PartitionInfo) -> None:
        assert self.in_flight == proposal
        self.in_flight = None
        self.accepted.append(answered)

    def proposal_refused(self, proposal: IsrProposal, error: ErrorCode) -> IsrProposal | None:
        self.refused.append(error)
        if error in self.gives_up_on:
            self.in_flight = None
        return self.in_flight


def proposal(*members: int) -> IsrProposal:
    isr = tuple(IsrMember(each, 100 + each) for each in members)
    return IsrProposal(leader_epoch=5, partition_epoch=8, isr=isr)


class Stage:
    def __init__(self) -> None:
        self.controller = FakeController()
        self.controller.answers[ALTER] = accept
        self.broker_epoch: int | None = 101
        self.proposals = IsrProposals(
            1,
            self.controller.to_controller,
            broker_epoch=lambda: self.broker_epoch,
            timeout_s=1.0,
            backoff=Backoff(0.1, 1.0, Random(1)),
        )
        self.task = asyncio.ensure_future(self.proposals.run())

    def propose(self, partition: FakePartition, wanted: IsrProposal) -> None:
        partition.in_flight = wanted
        self.proposals.propose(cast("Partition", partition), wanted)

    @property
    def requests(self) -> list[m.AlterPartitionRequest]:
        return [each.body for each in self.controller.asked(ALTER)]


def answer_each(make: Callable[[Any, Any], Any]) -> Callable[[Any], m.AlterPartitionResponse]:
    def answer(body: m.AlterPartitionRequest) -> m.AlterPartitionResponse:
        return m.AlterPartitionResponse(
            topics=[
                m.AlterPartitionResponseTopicData(
                    topic_id=topic.topic_id,
                    partitions=[
                        told for part in topic.partitions if (told := make(topic, part)) is not None
                    ],
                )
                for topic in body.topics
            ]
        )

    return answer


def _accepted(topic: Any, part: Any) -> m.AlterPartitionResponsePartitionData:
    return m.AlterPartitionResponsePartitionData(
        partition_index=part.partition_index,
        leader_id=1,
        leader_epoch=part.leader_epoch,
        isr=[each.broker_id for each in part.new_isr_with_epochs],
        partition_epoch=part.partition_epoch + 1,
    )


accept = answer_each(_accepted)


def refuse(code: ErrorCode) -> Callable[[Any], m.AlterPartitionResponse]:
    return answer_each(
        lambda _, part: m.AlterPartitionResponsePartitionData(
            partition_index=part.partition_index, error_code=code, isr=[]
        )
    )


@in_virtual_time
async def test_a_proposal_goes_out_with_all_its_epochs_and_its_answer_is_learned() -> None:
    stage, partition = Stage(), FakePartition("t", 3)
    stage.propose(partition, proposal(1, 2))
    await asyncio.sleep(0.1)
    [request] = stage.requests
    assert (request.broker_id, request.broker_epoch) == (1, 101)
    [topic] = request.topics
    [part] = topic.partitions
    assert (topic.topic_id, part.partition_index) == (partition.topic_id, 3)
    assert (part.leader_epoch, part.partition_epoch) == (5, 8)
    members = [(each.broker_id, each.broker_epoch) for each in part.new_isr_with_epochs]
    assert members == [(1, 101), (2, 102)]
    [learned] = partition.accepted
    assert (learned.isr, learned.partition_epoch, learned.leader_epoch) == ((1, 2), 9, 5)
    assert learned.replicas == (1, 2, 3)


@in_virtual_time
async def test_what_is_proposed_meanwhile_goes_together_in_the_next_request() -> None:
    stage = Stage()
    stage.controller.takes_s = 0.5
    partitions = [FakePartition(name, index) for name in "ab" for index in range(3)]
    for each in partitions:
        stage.propose(each, proposal(1, 3))
        await asyncio.sleep(0.01)
    await asyncio.sleep(2)
    counts = [sum(len(topic.partitions) for topic in each.topics) for each in stage.requests]
    assert counts == [1, 5]
    assert [len(each.topics) for each in stage.requests] == [1, 2]
    assert all(len(each.accepted) == 1 for each in partitions)


@in_virtual_time
async def test_a_proposal_that_was_overtaken_is_not_sent() -> None:
    stage, partition = Stage(), FakePartition("t", 0)
    stage.propose(partition, proposal(1, 2))
    partition.in_flight = None  # the metadata said something else before it went out
    await asyncio.sleep(1)
    assert stage.requests == []
    stage.propose(partition, proposal(1, 3))
    await asyncio.sleep(1)
    assert len(stage.requests) == 1


@in_virtual_time
async def test_a_controller_that_does_not_answer_is_asked_again_with_pauses() -> None:
    stage, partition = Stage(), FakePartition("t", 0)
    stage.controller.is_reachable = False
    stage.propose(partition, proposal(1, 2))
    await asyncio.sleep(10)
    assert 8 <= len(stage.requests) <= 16
    assert set(partition.refused) == {ErrorCode.REQUEST_TIMED_OUT}
    stage.controller.is_reachable = True
    await asyncio.sleep(1.5)
    assert len(partition.accepted) == 1


@in_virtual_time
async def test_a_broker_that_is_not_registered_waits() -> None:
    stage, partition = Stage(), FakePartition("t", 0)
    stage.broker_epoch = None
    stage.propose(partition, proposal(1, 2))
    await asyncio.sleep(3)
    assert stage.requests == []
    stage.broker_epoch = 102
    await asyncio.sleep(1.5)
    assert stage.requests[0].broker_epoch == 102
    assert len(partition.accepted) == 1


@pytest.mark.parametrize("code", [ErrorCode.NOT_CONTROLLER, ErrorCode.STALE_BROKER_EPOCH])
@in_virtual_time
async def test_an_error_of_the_whole_request_refuses_each(code: ErrorCode) -> None:
    stage, partitions = Stage(), [FakePartition("t", index) for index in range(2)]
    stage.controller.answers[ALTER] = lambda _: m.AlterPartitionResponse(error_code=code)
    for each in partitions:
        stage.propose(each, proposal(1, 2))
    await asyncio.sleep(0.05)
    assert [each.refused for each in partitions] == [[code], [code]]
    stage.controller.answers[ALTER] = accept
    await asyncio.sleep(1.5)
    assert all(len(each.accepted) == 1 for each in partitions)


@in_virtual_time
async def test_a_refusal_that_is_final_is_not_sent_again() -> None:
    stage, partition = Stage(), FakePartition("t", 0)
    partition.gives_up_on = (ErrorCode.FENCED_LEADER_EPOCH,)
    stage.controller.answers[ALTER] = refuse(ErrorCode.FENCED_LEADER_EPOCH)
    stage.propose(partition, proposal(1, 2))
    await asyncio.sleep(10)
    assert partition.refused == [ErrorCode.FENCED_LEADER_EPOCH]
    assert len(stage.requests) == 1


@in_virtual_time
async def test_one_refusal_does_not_hold_up_the_others() -> None:
    stage = Stage()
    bad, good = FakePartition("t", 0), FakePartition("t", 1)
    stage.controller.answers[ALTER] = answer_each(
        lambda topic, part: (
            m.AlterPartitionResponsePartitionData(
                partition_index=0, error_code=ErrorCode.INELIGIBLE_REPLICA, isr=[]
            )
            if part.partition_index == 0
            else _accepted(topic, part)
        )
    )
    for each in (bad, good):
        stage.propose(each, proposal(1, 2))
    await asyncio.sleep(0.05)
    assert (len(good.accepted), bad.refused) == (1, [ErrorCode.INELIGIBLE_REPLICA])
    await asyncio.sleep(1)
    assert len(good.accepted) == 1
    assert [part.partition_index for part in stage.requests[-1].topics[0].partitions] == [0]


@in_virtual_time
async def test_a_partition_that_the_answer_does_not_name_is_asked_for_again() -> None:
    stage, partition = Stage(), FakePartition("t", 0)
    stage.controller.answers[ALTER] = answer_each(lambda topic, part: None)
    stage.propose(partition, proposal(1, 2))
    await asyncio.sleep(0.05)
    assert partition.refused == [ErrorCode.OPERATION_NOT_ATTEMPTED]
    stage.controller.answers[ALTER] = accept
    await asyncio.sleep(0.5)
    assert len(partition.accepted) == 1


@in_virtual_time
async def test_who_leads_no_more_learns_nothing() -> None:
    stage, partition = Stage(), FakePartition("t", 0)
    stage.controller.takes_s = 0.5
    stage.propose(partition, proposal(1, 2))
    await asyncio.sleep(0.1)
    partition.leader = partition.in_flight = None
    await asyncio.sleep(2)
    assert (partition.accepted, partition.refused) == ([], [])
    assert len(stage.requests) == 1


@in_virtual_time
async def test_thousands_of_proposals_go_out_a_few_hundred_at_a_time() -> None:
    stage = Stage()
    partitions = [FakePartition("t", index) for index in range(1200)]
    for partition in partitions:
        stage.propose(partition, proposal(1, 2))
    await asyncio.sleep(1)
    sizes = [len(topic.partitions) for request in stage.requests for topic in request.topics]
    assert sizes == [500, 500, 200]
    assert all(len(partition.accepted) == 1 for partition in partitions)
