"""A cluster of one real broker: what was acknowledged outlives a kill, and nothing else does."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from harness.cluster import Cluster, Node
from harness.cluster.errors import NoAnswerError, NodeFailedError, RefusedConfigError
from harness.cluster.local import LocalPlace
from harness.cluster.process_table import is_alive
from harness.cluster.reference_broker import ReferenceBroker
from harness.cluster.server_properties import Settings
from tests.cluster import aiokafka_client
from tests.cluster.confluent import create_topic, produce, read_all

pytestmark = pytest.mark.clients


def cluster_in(directory: Path, **properties: str) -> Cluster:
    settings = Settings(properties=properties)
    return Cluster(ReferenceBroker(LocalPlace(directory), settings), count=1)


def pid_of(cluster: Cluster, node: Node) -> int:
    process = cluster.system.process(node)
    assert process is not None
    return process.pid


def files_below(directory: Path) -> set[Path]:
    return {path for path in directory.rglob("*") if not path.is_dir()}


async def test_a_kill_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    home = tmp_path / "place"
    async with cluster_in(home) as cluster:
        assert cluster.nodes == ("n1",)
        assert cluster.process is not None
        await create_topic(cluster, "t", partitions=2, replicas=1)
        first = await produce(cluster, "t", [b"a", b"b", b"c"])
        pids = [pid_of(cluster, "n1")]

        await cluster.process.kill("n1")
        assert not is_alive(pids[0])
        assert not await cluster.process.is_running("n1")
        await cluster.process.start("n1")
        pids.append(pid_of(cluster, "n1"))
        assert pids[0] != pids[1]

        second = await produce(cluster, "t", [b"d"])
        third = await aiokafka_client.produce(cluster, "t", [b"e"], partition=1)
        assert await read_all(cluster, "t") == first | second | third
        assert await aiokafka_client.read_all(cluster, "t", 2) == first | second | third
        await cluster.process.stop("n1")
        assert not is_alive(pids[1])
        address = cluster.bootstrap()

    host, _, port = address.partition(":")
    with socket.socket() as probe:
        assert probe.connect_ex((host, int(port))) != 0
    assert files_below(tmp_path) == files_below(home)
    assert {path.name for path in (home / "n1").iterdir()} == {
        "server.properties",
        "broker.out",
        "broker.log",
        "data",
    }


async def test_leaving_the_cluster_ends_a_paused_node_too(tmp_path: Path) -> None:
    async with cluster_in(tmp_path) as cluster:
        assert cluster.process is not None
        pid = pid_of(cluster, "n1")
        await cluster.process.pause("n1")
        assert await cluster.process.is_paused("n1")
    assert not is_alive(pid)


async def test_a_paused_node_goes_on_where_it_was(tmp_path: Path) -> None:
    async with cluster_in(tmp_path) as cluster:
        assert cluster.process is not None
        await create_topic(cluster, "t", partitions=1, replicas=1)
        await cluster.process.pause("n1")
        await cluster.process.start("n1")  # It runs, so there is nothing to start.
        assert await cluster.process.is_paused("n1")
        await cluster.process.resume("n1")
        stored = await produce(cluster, "t", [b"after"])
        assert await read_all(cluster, "t") == stored


async def test_the_one_node_leads_and_controls(tmp_path: Path) -> None:
    async with cluster_in(tmp_path, **{"auto.create.topics.enable": "true"}) as cluster:
        await create_topic(cluster, "t", partitions=2, replicas=1)
        partitions = await cluster.partitions("t")
        assert [one.index for one in partitions] == [0, 1]
        assert all(one.leader == "n1" for one in partitions)
        assert all(one.isr == one.replicas == ("n1",) for one in partitions)
        assert await cluster.leader("t", 1) == "n1"
        assert await cluster.controller() == "n1"
        # To ask for a topic must not make it, whatever the cluster would do for a producer.
        for _ in range(2):
            with pytest.raises(NoAnswerError, match="does not know missing"):
                await cluster.partitions("missing")


async def test_a_node_that_refuses_to_start_says_why_and_is_not_left_behind(tmp_path: Path) -> None:
    place = LocalPlace(tmp_path)
    refused = Settings(properties={"node.id": "one"})
    with pytest.raises(RefusedConfigError, match=r"n1 could not be formatted(.|\n)*node\.id"):
        async with Cluster(ReferenceBroker(place, refused), count=1):
            pass
    assert place.hosts == ()


async def test_a_start_that_fails_shows_what_the_broker_said(tmp_path: Path) -> None:
    async with cluster_in(tmp_path) as cluster:
        assert cluster.process is not None
        await cluster.process.stop("n1")
        (tmp_path / "n1/data/logs/meta.properties").write_text("version=1\n")
        with pytest.raises(NodeFailedError, match=r"n1 ended with \d+ before it was ready"):
            await cluster.process.start("n1")
        assert not await cluster.process.is_running("n1")
