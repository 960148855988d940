"""A whole run against Apache Kafka, on hosts made of namespaces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.cluster.kafka_jars import fetch_jars
from harness.run.plan import Plan
from harness.run.run import execute
from harness.run.watching import watcher_of
from harness.store.store import Store


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_queues_of_apache_kafka_live_through_partitions(tmp_path: Path) -> None:
    fetch_jars()
    plan = Plan(
        system="kafka",
        nemesis="partition",
        nodes=3,
        concurrency=3,
        rate=100,
        time_limit_s=40,
        nemesis_interval_s=8,
        seed=1,
    )
    silent = watcher_of("", is_silent=True, has_color=False)
    outcome = execute(plan, Store(tmp_path / "store"), silent)
    assert outcome.exit_code == 0, json.dumps(outcome.results(), indent=1)
