"""After the faults: every leadership moves once, and one that does not is a doubt, in time."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from harness.cluster import Cluster, NewTopic, PartitionState
from harness.cluster.errors import NoAnswerError, RefusedError
from harness.doubts import Doubt, DoubtKind, sentence_of
from harness.run import calm
from harness.run.calm import (
    doubts_about_reading,
    doubts_about_replicas,
    existing,
    rotate_leaders,
    why_not_rotated,
)
from harness.run.clients import Unsettled


class FakeCluster:
    """Two partitions of one topic; it is its own system."""

    name = "tiny"

    def __init__(self, *, answers: bool = True, obeys: bool = True) -> None:
        self.led_by = {0: "n1", 1: "n3"}
        self._answers = answers
        self._obeys = obeys
        self.system: Any = self
        self.leaders: Any = self
        self.elections: Any = self
        self.reassignment: Any = self

    async def partitions(self, topic: str) -> list[PartitionState]:
        return [
            PartitionState(index=index, leader=leader, replicas=("n1", "n2", "n3"), isr=("n1",))
            for index, leader in self.led_by.items()
        ]

    async def leader(self, topic: str, partition: int) -> str:
        return self.led_by[partition]

    async def reassign(self, topic: str, partition: int, replicas: list[str]) -> None:
        if not self._answers:
            await asyncio.sleep(3600)
        if partition == 1 and not self._obeys:
            raise NoAnswerError("nobody answered")
        self.led_by[partition] = replicas[0]

    async def elect(self, topic: str, partition: int) -> None:
        pass


class Recovering(FakeCluster):
    """Fails in another way each time it is asked, and then describes replicas that are in sync."""

    def __init__(self, *failures: Exception) -> None:
        super().__init__()
        self._failures = list(failures)

    async def partitions(self, topic: str) -> list[PartitionState]:
        if self._failures:
            raise self._failures.pop(0)
        return [PartitionState(index=0, leader="n1", replicas=("n1",), isr=("n1",))]


async def test_no_failure_to_answer_ends_the_wait_for_the_replicas() -> None:
    cluster = Recovering(
        NoAnswerError("nobody answered"), RefusedError("not the controller"), OSError("a socket")
    )
    assert await doubts_about_replicas(cast("Cluster", cluster), ["t"]) == []


async def test_a_cluster_that_never_answers_is_waited_for_and_its_last_failure_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calm, "_ISR_WITHIN_S", 0.1)
    cluster = Recovering(*[RefusedError("not the controller")] * 1000)
    assert await doubts_about_replicas(cast("Cluster", cluster), ["t"]) == [
        Doubt(
            DoubtKind.OUT_OF_SYNC,
            detail="timed out after 0.1 s waiting until every replica is in sync "
            "(not the controller)",
        )
    ]


async def rotated(cluster: Any) -> list[str]:
    doubts = await rotate_leaders(cast("Cluster", cluster), ["t"])
    return [sentence_of(doubt) for doubt in doubts]


async def test_each_partition_is_led_by_its_next_replica() -> None:
    cluster = FakeCluster()
    assert await rotated(cluster) == []
    assert cluster.led_by == {0: "n2", 1: "n1"}


async def test_a_leader_that_is_no_replica_any_more_gives_way_to_the_first() -> None:
    cluster = FakeCluster()
    cluster.led_by = {0: "n4"}
    assert await rotated(cluster) == []
    assert cluster.led_by == {0: "n1"}


async def test_one_that_cannot_be_moved_is_a_doubt() -> None:
    cluster = FakeCluster(obeys=False)
    assert await rotated(cluster) == [
        "leadership of t-1 could not be moved: n1 did not become its leader: nobody answered"
    ]
    assert cluster.led_by[0] == "n2"


class Fenced(FakeCluster):
    """Refuses some elections, and then holds them."""

    def __init__(self, refusals: int) -> None:
        super().__init__()
        self._refusals = refusals

    async def elect(self, topic: str, partition: int) -> None:
        self._refusals -= 1
        if self._refusals >= 0:
            raise NoAnswerError("PREFERRED_LEADER_NOT_AVAILABLE")  # a code that is retriable


async def test_an_election_that_is_refused_is_asked_for_again_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert await rotated(Fenced(1)) == []
    monkeypatch.setattr(calm, "_LED_WITHIN_S", 0.05)
    first, second = await rotated(Fenced(1000))
    assert first.endswith("n2 did not become its leader: PREFERRED_LEADER_NOT_AVAILABLE")
    assert second.endswith("n1 did not become its leader: PREFERRED_LEADER_NOT_AVAILABLE")


async def test_brokers_that_never_answer_hold_up_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calm, "_ROTATED_WITHIN_S", 0.05)
    found = await asyncio.wait_for(rotated(FakeCluster(answers=False)), 5)
    assert found == ["leadership of 2 partitions could not be moved: no answer within 0.05 s"]


async def test_a_topic_without_partitions_has_no_leaders_to_move() -> None:
    cluster = FakeCluster()
    cluster.led_by = {}
    assert await rotated(cluster) == []


async def test_a_system_without_leaders_has_none_moved_and_says_so() -> None:
    cluster = FakeCluster()
    cluster.leaders, cluster.led_by = None, {}
    assert await rotated(cluster) == []
    assert why_not_rotated(cast("Cluster", cluster)) == (
        "tiny has no leaders to move: every log is read where it was written"
    )
    assert why_not_rotated(cast("Cluster", FakeCluster())) is None


@pytest.mark.parametrize("missing", ["elections", "reassignment"])
async def test_replicas_whose_leader_cannot_be_moved_are_a_doubt(missing: str) -> None:
    cluster = FakeCluster()
    setattr(cluster, missing, None)
    cluster.led_by = {0: "n1"}
    assert await rotated(cluster) == [
        "leadership of t-0 could not be moved: tiny cannot move leaders: every log is read "
        "from its last leader"
    ]


def test_what_was_not_read_or_answered_is_a_doubt() -> None:
    assert doubts_about_reading(Unsettled({}, ()), 60) == []
    left = Unsettled({"t-1": 1200, "t-0": None}, ["describe a"])
    assert [sentence_of(doubt) for doubt in doubts_about_reading(left, 60)] == [
        "logs were not read back completely within 60 s; still unread: all of t-0, 1,200 of t-1",
        "final requests had no answer within 60 s (1): describe a",
    ]


async def test_moves_end_with_the_run_that_is_interrupted_meanwhile() -> None:
    """One that went on would ask a cluster that has come down."""
    before = asyncio.all_tasks()
    rotating = asyncio.create_task(rotated(FakeCluster(answers=False)))
    await asyncio.sleep(0.01)
    assert len(asyncio.all_tasks() - before) == 3, "itself and a move for each partition"
    rotating.cancel()
    with pytest.raises(asyncio.CancelledError):
        await rotating
    assert asyncio.all_tasks() == before


class Grown(FakeCluster):
    """Has as many partitions as `led_by` says, if it says anything."""

    def __init__(self, count: int | None) -> None:
        super().__init__()
        self.asked = 0
        self._count = count

    async def partitions(self, topic: str) -> list[PartitionState]:
        self.asked += 1
        if self._count is None:
            raise NoAnswerError("nobody answered")
        self.led_by = dict.fromkeys(range(self._count), "n1")
        return await super().partitions(topic)


@pytest.mark.parametrize(("count", "last"), [(2, 1), (4, 3), (9, 5), (None, 1)])
def test_only_partitions_that_are_there_are_read_back(count: int | None, last: int) -> None:
    """Those that the topic began with always are."""
    topic = NewTopic(name="t", partitions=2, replication_factor=1, configs={})
    cluster = Grown(count)
    wanted = [f"t-{index}" for index in range(6)]
    found = asyncio.run(existing(cast("Cluster", cluster), [topic], wanted))
    assert found == wanted[: last + 1]
    assert cluster.asked == 1


def test_a_topic_that_does_not_grow_is_not_asked_for() -> None:
    topic = NewTopic(name="t", partitions=2, replication_factor=1, configs={})
    cluster = Grown(None)
    assert asyncio.run(existing(cast("Cluster", cluster), [topic], ["t-0", "t-1"])) == [
        "t-0",
        "t-1",
    ]
    assert cluster.asked == 0
