"""Apache Kafka as a system: what it lacks is told, and a node of it lives through what nodes do."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cluster import Cluster, NewTopic, local_process
from harness.cluster.apache_kafka import ApacheKafka
from harness.cluster.errors import NodeFailedError, RefusedError
from harness.cluster.local import LocalPlace
from harness.cluster.local_process import death_warrant
from harness.cluster.server_properties import QUICK_FAILOVER
from harness.errors import EnvironmentFailure
from tests.unit.harness.cluster.places import local_place


@pytest.mark.parametrize("warrant", [(), death_warrant()], ids=["bare", "under setpriv"])
async def test_a_host_without_java_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warrant: tuple[str, ...]
) -> None:
    monkeypatch.setattr(local_process, "death_warrant", lambda: warrant)
    async with local_place(tmp_path) as place:
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(EnvironmentFailure, match=r"n1 has no java, .* takes 17 or newer"):
            await ApacheKafka(place).install("n1")


async def test_before_it_was_fetched_it_says_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    async with local_place(tmp_path) as place:
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        with pytest.raises(EnvironmentFailure, match="try: harness systems install kafka"):
            await ApacheKafka(place).install("n1")


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_a_node_serves_and_is_changed_and_comes_back(tmp_path: Path) -> None:
    system = ApacheKafka(LocalPlace(tmp_path), QUICK_FAILOVER, start_within_s=120)
    async with Cluster(system, count=1) as cluster:
        assert cluster.process is not None
        await system.create_topic(NewTopic(name="t", partitions=2, replication_factor=1))
        assert await cluster.controller() == "n1"
        assert [one.leader for one in await cluster.partitions("t")] == ["n1", "n1"]
        await system.alter_topic("t", {"retention.ms": "100000"})
        await system.elect("t", 0)
        await system.reassign("t", 0, ["n1"])
        with pytest.raises(RefusedError, match="UNKNOWN_TOPIC_OR_PARTITION"):
            await system.reassign("t", 7, ["n1"])
        assert await system.segments("t", "n1") == {0: [0], 1: [0]}
        assert await system.log_starts("t") == {0: 0, 1: 0}
        await cluster.process.kill("n1")
        await cluster.process.start("n1")
        assert await cluster.leader("t", 1) == "n1"
        await cluster.process.stop("n1")
        assert not await cluster.process.is_running("n1")


@pytest.mark.java
@pytest.mark.slow
async def test_a_node_that_does_not_start_leaves_its_last_words(tmp_path: Path) -> None:
    settings = QUICK_FAILOVER.with_properties({"num.network.threads": "0"})
    with pytest.raises(NodeFailedError, match=r"num\.network\.threads"):
        async with Cluster(ApacheKafka(LocalPlace(tmp_path), settings), count=1):
            pass
