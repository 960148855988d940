"""What is written down of a cluster when all is healed."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from harness.cluster import Cluster, PartitionState
from harness.cluster.errors import NoAnswerError
from harness.run.aftermath import aftermath, struck_by
from harness.schedule.faults import Cut, DiskFull, Kill, PowerLoss


class FakeCluster:
    """One topic of one partition on three nodes, of which some are silent."""

    nodes = ("n1", "n2", "n3")

    def __init__(self, leader: str | None, *isr: str, silent: tuple[str, ...] = ()) -> None:
        self._state = PartitionState(index=0, leader=leader, replicas=self.nodes, isr=isr)
        self._silent = silent
        self.asked: list[str] = []
        self.system: Any = self
        self.leaders: Any = self

    async def partitions(self, topic: str, *asking: str) -> list[PartitionState]:
        self.asked += asking
        if topic == "gone" or any(each in self._silent for each in asking):
            raise NoAnswerError("nobody answered")
        return [self._state]


async def seen(cluster: FakeCluster, *topics: str) -> dict[str, Any]:
    return await aftermath(
        cast("Cluster", cluster),
        topics or ("t",),
        is_healed=True,
        struck=["n3"],
        min_isr=2,
        waited_s=61.26,
    )


async def test_where_all_is_well_each_node_is_asked_nevertheless() -> None:
    cluster = FakeCluster("n1", "n1", "n2", silent=("n3",))
    found = await seen(cluster)
    assert (found["partitions"], found["unwell"]) == (1, [])
    assert cluster.asked == ["n1", "n2", "n3"]
    assert found["nodes"] == {"n1": True, "n2": True, "n3": False}
    assert (found["waited_s"], found["struck"], found["healed"]) == (61.3, ["n3"], True)


async def test_nodes_are_asked_at_the_same_time() -> None:
    """Each silent one takes its time-out, and there may be many of them."""
    everybody = asyncio.Barrier(3)

    class Meeting(FakeCluster):
        async def partitions(self, topic: str, *asking: str) -> list[PartitionState]:
            if asking:
                await everybody.wait()
            return await super().partitions(topic, *asking)

    async with asyncio.timeout(10):
        found = await seen(Meeting("n1", "n1", "n2"))
    assert found["nodes"] == {"n1": True, "n2": True, "n3": True}


async def test_a_partition_without_a_leader_or_without_enough_in_sync_is_told() -> None:
    for cluster in (FakeCluster(None, "n1", "n2"), FakeCluster("n1", "n1", silent=("n2",))):
        (told,) = (await seen(cluster))["unwell"]
        assert told["partition"] == "t-0"
        assert (told["replicas"], told["min_isr"]) == (["n1", "n2", "n3"], 2)
        assert cluster.asked == ["n1", "n2", "n3"]
    assert (await seen(cluster))["nodes"] == {"n1": True, "n2": False, "n3": True}


async def test_a_topic_that_nobody_describes_is_not_counted() -> None:
    found = await seen(FakeCluster("n1", "n1", "n2"), "gone")
    assert (found["partitions"], found["unwell"]) == (0, [])


def test_who_was_struck_is_told_by_the_faults() -> None:
    faults = [
        Kill(name="a", at_ms=0, node="n1"),
        Cut(name="b", at_ms=0, links=(("n2", "n3"),)),
        PowerLoss(name="c", at_ms=0, node="n4"),
        DiskFull(name="d", at_ms=0, node="n2"),
    ]
    assert struck_by(faults) == ["n2", "n4"]


async def test_a_node_of_a_system_without_leaders_is_asked_whether_it_is_well() -> None:
    class Tiny(FakeCluster):
        async def is_well(self, node: str) -> bool:
            return node != "n2"

    cluster = Tiny("n1")
    cluster.leaders = None
    found = await seen(cluster)
    assert found["nodes"] == {"n1": True, "n2": False, "n3": True}
    assert cluster.asked == []
