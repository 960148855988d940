"""A cluster that runs already is put on trial by its address alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cluster import Cluster
from harness.cluster.kafka_questions import topics_at
from harness.cluster.local import LocalPlace
from harness.cluster.reference_broker import ReferenceBroker
from harness.cluster.server_properties import QUICK_FAILOVER
from tests.run.commands import harness

LOAD = ("--rate", "200", "--time-limit", "3", "--concurrency", "3", "--seed", "1", "--json")


def beside_a_broker(directory: Path, act: Callable[[str], None]) -> None:
    async def play() -> None:
        system = ReferenceBroker(LocalPlace(directory / "others"), QUICK_FAILOVER)
        async with Cluster(system, count=1) as cluster:
            await asyncio.to_thread(act, cluster.bootstrap())

    asyncio.run(play())


@pytest.mark.slow
def test_a_running_broker_is_judged_and_left_as_it_was(tmp_path: Path) -> None:
    def act(bootstrap: str) -> None:
        words = ("test", "--on", "running", "--bootstrap-servers", bootstrap)
        refused = harness(*words, "--nemesis", "kill", cwd=tmp_path)
        assert refused.exit_code == 254
        assert "kill is unavailable with --on running: the hosts of a running" in refused.error
        said = harness(*words, *LOAD, "-w", "queue", cwd=tmp_path)
        assert said.exit_code == 0, str(said)
        assert said.results["figures"]["acknowledged"] > 50
        assert f"--bootstrap-servers {bootstrap}" in said.results["command"]
        assert not {topic for topic in topics_at(bootstrap) if topic.startswith("queue")}

    beside_a_broker(tmp_path, act)
