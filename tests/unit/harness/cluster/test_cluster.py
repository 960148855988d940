"""What a nemesis is handed: the nodes, and each thing it may break or the reason why not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

import pytest

from harness.cluster import (
    CAPABILITIES,
    Cluster,
    NewTopic,
    Node,
    PartitionState,
    Place,
    RunningProcess,
)
from harness.cluster.errors import FaultMissedError, NodeFailedError
from harness.cluster.local import LocalPlace
from harness.cluster.parts import EveryPart
from harness.cluster.process_table import is_alive
from tests.unit.harness.cluster.places import SLEEPS


class Sleepers(EveryPart):
    """A system whose nodes sleep, and whose last node may refuse to start."""

    name = "sleepers"
    state = None

    def __init__(self, place: Place, *, refusing: Node | None = None) -> None:
        self.place = place
        self.refusing = refusing
        self.told: list[str] = []
        self.started: list[RunningProcess] = []
        self._processes: dict[Node, RunningProcess] = {}

    async def install(self, node: Node) -> None:
        self.told.append(f"install {node}")

    async def configure(self, node: Node) -> None:
        self.told.append(f"configure {node}")

    async def start(self, node: Node) -> None:
        if node == self.refusing:
            raise NodeFailedError(f"{node} refuses")
        self.told.append(f"start {node}")
        home = next(host.home for host in self.place.hosts if host.node == node)
        process = await self.place.spawn(
            node, [sys.executable, "-c", SLEEPS], stdout=home / "out", stderr=home / "err"
        )
        self._processes[node] = process
        self.started.append(process)

    async def stop(self, node: Node) -> None:
        self.told.append(f"stop {node}")
        await self._processes[node].terminate(within_s=20)

    def process(self, node: Node) -> RunningProcess | None:
        return self._processes.get(node)

    def bootstrap(self, nodes: Sequence[Node]) -> str:
        return ",".join(f"{node}:9092" for node in nodes)

    async def is_well(self, node: Node) -> bool:
        return True

    def logs(self, node: Node) -> Sequence[PurePosixPath]:
        return ()

    def log_directory(self, node: Node) -> PurePosixPath:
        return PurePosixPath(node)

    async def partitions(self, topic: str, asking: Sequence[Node]) -> Sequence[PartitionState]:
        self.told.append(f"asked {','.join(asking)}")
        return [PartitionState(index=0, leader=asking[0], replicas=("n1", "n2"), isr=("n1",))]

    async def controller(self, asking: Sequence[Node]) -> Node | None:
        return asking[-1]

    async def create_topic(self, topic: NewTopic) -> None:
        self.told.append(f"create {topic.name}")

    async def alter_topic(self, topic: str, configs: Mapping[str, str | None]) -> None:
        self.told.append(f"alter {topic}")

    async def reassign(self, topic: str, index: int, replicas: Sequence[Node]) -> None:
        self.told.append(f"reassign {topic}-{index}")

    async def elect(self, topic: str, index: int) -> None:
        self.told.append(f"elect {topic}-{index}")

    async def log_starts(self, topic: str) -> Mapping[int, int]:
        return {}

    async def delete_records(self, topic: str, before: Mapping[int, int]) -> None:
        self.told.append(f"delete {topic}")

    async def segments(self, topic: str, node: Node) -> Mapping[int, Sequence[int]]:
        return {}


async def test_every_node_is_installed_configured_and_started(tmp_path: Path) -> None:
    system = Sleepers(LocalPlace(tmp_path))
    async with Cluster(system, count=2) as cluster:
        assert cluster.nodes == ("n1", "n2")
        assert cluster.bootstrap() == "n1:9092,n2:9092"
        assert cluster.bootstrap("n2") == "n2:9092"
        verbs = ("install", "configure", "start")
        assert system.told == [f"{verb} n{k}" for verb in verbs for k in (1, 2)]
    assert not any(is_alive(process.pid) for process in system.started)
    assert not cluster.nodes


async def test_each_capability_is_there_or_has_a_reason(tmp_path: Path) -> None:
    cluster = Cluster(Sleepers(LocalPlace(tmp_path)), count=1)
    for capability in CAPABILITIES:
        assert (getattr(cluster, capability) is None) == (cluster.why_not(capability) is not None)
    assert cluster.process is not None
    assert cluster.network is None


async def test_a_node_that_does_not_start_takes_the_others_down(tmp_path: Path) -> None:
    system = Sleepers(LocalPlace(tmp_path), refusing="n3")
    with pytest.raises(NodeFailedError, match="n3 refuses"):
        async with Cluster(system, count=3):
            pass
    assert not any(is_alive(process.pid) for process in system.started)


async def test_to_ask_for_what_already_is_does_nothing(tmp_path: Path) -> None:
    system = Sleepers(LocalPlace(tmp_path))
    async with Cluster(system, count=1) as cluster:
        assert cluster.process is not None
        system.told.clear()
        await cluster.process.start("n1")
        await cluster.process.resume("n1")
        assert system.told == []
        await cluster.process.kill("n1")
        await cluster.process.kill("n1")
        await cluster.process.stop("n1")
        await cluster.process.resume("n1")
        assert system.told == []
        with pytest.raises(FaultMissedError, match="n1 does not run, so it cannot be paused"):
            await cluster.process.pause("n1")
        await cluster.start()
        assert await cluster.process.is_running("n1")
        await cluster.process.stop("n1")
        assert system.told == ["start n1", "stop n1"]


async def test_dead_and_paused_nodes_are_not_asked(tmp_path: Path) -> None:
    system = Sleepers(LocalPlace(tmp_path))
    async with Cluster(system, count=3) as cluster:
        assert cluster.process is not None
        await cluster.process.kill("n1")
        await cluster.process.pause("n2")
        assert await cluster.leader("t", 0) == "n3"
        assert await cluster.controller() == "n3"
        assert await cluster.leader("t", 0, "n2", "n1") == "n2"
        assert system.told[-2:] == ["asked n3", "asked n2,n1"]
        with pytest.raises(ValueError, match="t has no partition 7"):
            await cluster.leader("t", 7)


async def test_a_cluster_without_nodes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a cluster of 0 nodes"):
        Cluster(Sleepers(LocalPlace(tmp_path)), count=0)


def test_no_client_library_is_loaded_before_a_question_is_asked() -> None:
    script = (
        "import sys, harness.cluster.reference_broker, harness.cluster.local\n"
        "print([name for name in ('confluent_kafka', 'aiokafka') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert shown.stdout == b"[]\n"
