"""Where each replica lies is told to the controller: together, until it is answered."""

from __future__ import annotations

import asyncio
from random import Random
from typing import cast

import pytest

from broker import directory_assignments
from broker.directory_assignments import DirectoryAssignments
from broker.metadata.partition_info import PartitionInfo
from broker.partition import Partition
from broker.peers.backoff import Backoff
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.fake_controller import FakeController
from tests.virtual_time import in_virtual_time

ASSIGN = ApiKey.ASSIGN_REPLICAS_TO_DIRS
A, B = b"a" * 16, b"b" * 16


class FakePartition:
    def __init__(self, index: int, log_dir: str, known: bytes | None = None) -> None:
        self.topic_id = b"t" * 16
        self.index = index
        self.log_dir = log_dir
        self.next_log_dir: str | None = None
        directories = ((2, B),) if known is None else ((1, known), (2, B))
        self.info = PartitionInfo(replicas=(1, 2), isr=(1, 2), leader=1, directories=directories)


class Stage:
    def __init__(self, **ids: bytes) -> None:
        self.controller = FakeController()
        self.controller.answers[ASSIGN] = lambda _: m.AssignReplicasToDirsResponse(directories=[])
        self.broker_epoch: int | None = 7
        self.assignments = DirectoryAssignments(
            1,
            self.controller.to_controller,
            ids=ids or {"a": A, "b": B},
            broker_epoch=lambda: self.broker_epoch,
            timeout_s=1.0,
            backoff=Backoff(0.1, 1.0, Random(1)),
        )
        self.task = asyncio.ensure_future(self.assignments.run())

    def look_at(self, *partitions: FakePartition) -> None:
        for each in partitions:
            self.assignments.look_at(cast("Partition", each))

    @property
    def told(self) -> list[dict[bytes, list[int]]]:
        """Of each request the partitions in each directory."""
        return [
            {
                directory.id: [p.partition_index for t in directory.topics for p in t.partitions]
                for directory in each.body.directories
            }
            for each in self.controller.asked(ASSIGN)
        ]


@in_virtual_time
async def test_what_the_metadata_does_not_know_is_told_in_one_request() -> None:
    stage = Stage()
    stage.look_at(FakePartition(0, "a"), FakePartition(1, "b"), FakePartition(2, "a", known=B))
    stage.look_at(FakePartition(3, "b", known=B))
    await asyncio.sleep(1)
    assert stage.told == [{A: [0, 2], B: [1]}]
    body = stage.controller.asked(ASSIGN)[0].body
    assert (body.broker_id, body.broker_epoch) == (1, 7)


@in_virtual_time
async def test_with_one_directory_only_a_wrong_memory_is_put_right() -> None:
    stage = Stage(a=A)
    stage.look_at(FakePartition(0, "a"), FakePartition(1, "a", known=A))
    await asyncio.sleep(1)
    assert stage.told == []
    stage.look_at(FakePartition(2, "a", known=B))
    await asyncio.sleep(1)
    assert stage.told == [{A: [2]}]


@in_virtual_time
async def test_it_is_told_again_until_it_is_answered() -> None:
    stage = Stage()
    stage.broker_epoch = None
    stage.look_at(FakePartition(0, "a"))
    await asyncio.sleep(1)
    assert stage.told == []
    stage.broker_epoch, stage.controller.is_reachable = 7, False
    await asyncio.sleep(3)
    tries = len(stage.told)
    assert 1 < tries < 20
    error = m.AssignReplicasToDirsResponse(error_code=ErrorCode.NOT_CONTROLLER, directories=[])
    stage.controller.answers[ASSIGN] = lambda _: error
    stage.controller.is_reachable = True
    await asyncio.sleep(3)
    assert len(stage.told) > tries
    stage.controller.answers[ASSIGN] = lambda _: m.AssignReplicasToDirsResponse(directories=[])
    await asyncio.sleep(3)
    tries = len(stage.told)
    await asyncio.sleep(10)
    assert len(stage.told) == tries
    assert set(map(repr, stage.told)) == {repr({A: [0], B: []})}


@in_virtual_time
async def test_what_is_known_by_now_is_not_told() -> None:
    stage = Stage()
    stage.controller.takes_s = 0.5
    late = FakePartition(1, "b")
    stage.look_at(FakePartition(0, "a"))
    await asyncio.sleep(0.1)
    stage.look_at(late)
    late.info = FakePartition(1, "b", known=B).info
    await asyncio.sleep(2)
    assert stage.told == [{A: [0], B: []}]


@in_virtual_time
async def test_many_are_told_in_several_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_assignments, "_AT_ONCE", 2)
    stage = Stage()
    stage.look_at(*(FakePartition(index, "a") for index in range(5)))
    await asyncio.sleep(1)
    assert [each[A] for each in stage.told] == [[0, 1], [2, 3], [4]]


@in_virtual_time
async def test_a_refusal_is_said_and_not_repeated(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage()
    part = m.AssignReplicasToDirsResponsePartitionData(
        partition_index=0, error_code=ErrorCode.UNKNOWN_TOPIC_ID
    )
    topic = m.AssignReplicasToDirsResponseTopicData(topic_id=b"t" * 16, partitions=[part])
    directory = m.AssignReplicasToDirsResponseDirectoryData(id=A, topics=[topic])
    stage.controller.answers[ASSIGN] = lambda _: m.AssignReplicasToDirsResponse(
        directories=[directory]
    )
    stage.look_at(FakePartition(0, "a"))
    await asyncio.sleep(5)
    assert len(stage.told) == 1
    assert "UNKNOWN_TOPIC_ID" in caplog.text
