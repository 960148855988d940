"""Runs with keys in the simulator: a sound one names its skew, and broken ones are found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from broker.api import create_partitions as api
from broker.metadata.changes import PartitionsAdded
from harness.client.driver import ANY_PARTITION, Place, ToStore
from harness.native.errors import ClientError
from harness.native.partitions import PartitionChoice
from harness.run.outcome import Outcome
from harness.run.plan import Plan
from harness.run.run import execute
from harness.run.watching import Silent
from harness.store.store import Store


def run(tmp_path: Path, **wanted: Any) -> Outcome:
    plan = Plan(
        workload="keyed", on="sim", nodes=3, concurrency=4, rate=100, time_limit_s=5, burst=8,
        seed=3, invariants="off",
    )  # fmt: skip
    return execute(replace(plan, **wanted), Store(tmp_path), Silent())


def found(outcome: Outcome) -> set[str]:
    return {each.type for verdict in outcome.verdicts for each in verdict.anomalies}


def test_keys_move_are_overtaken_and_the_run_is_valid(tmp_path: Path) -> None:
    outcome = run(tmp_path, key_dist="hot:90")
    assert outcome.exit_code == 0, outcome.sentence()
    stats = {verdict.checker: verdict.stats for verdict in outcome.verdicts}
    assert stats["key-order"]["moves"] > 10
    assert set(stats["key-moved"]["partitioners"]) <= {"murmur2", "custom"}
    shares = {key: each["share"] for key, each in outcome.figures["partitions"].items()}
    assert len(shares) > 4, "partitions were added"
    assert max(shares.values()) > 0.3
    assert "  skew: keyed-" in (outcome.directory / "summary.txt").read_text()


def test_a_client_that_puts_keys_elsewhere_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = PartitionChoice._placed

    def scattered(
        self: PartitionChoice, record: ToStore, count: int | ClientError
    ) -> ToStore | ClientError:
        placed = sound(self, record, count)
        if isinstance(placed, ClientError) or record.place.partition != ANY_PARTITION:
            return placed
        assert isinstance(count, int)
        topic, partition, name, _ = placed.place
        other = (partition + 1) % count
        return placed._replace(place=Place(topic, other, name, f"{topic}-{other}"))

    monkeypatch.setattr(PartitionChoice, "_placed", scattered)
    assert found(run(tmp_path)) == {"key-moved"}


@pytest.mark.slow
def test_partitions_that_were_acknowledged_and_never_made_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = api.plan_partitions

    def forgotten(node: Any, topic: Any) -> PartitionsAdded:
        change = sound(node, topic)
        return PartitionsAdded(change.name, change.topic_id, change.first, ())

    monkeypatch.setattr(api, "plan_partitions", forgotten)
    assert "lost-change" in found(run(tmp_path))
