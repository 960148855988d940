"""A run whose nemeses cannot strike is refused before it starts, with what would do instead."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest

from harness.cli.testing import run_test
from harness.run.feasible import why_no_verdict, why_not_struck
from harness.run.plan import Plan
from nemesis import NEMESES
from workloads import WORKLOADS

WITHOUT_GROUPS = ",".join(name for name in NEMESES if name != "churn")
PLAN = Plan(on="sim", time_limit_s=15, nodes=5, concurrency=10)


def refusal(nemesis: str, **wanted: Any) -> str:
    said = why_not_struck(replace(PLAN, nemesis=nemesis, **wanted))
    assert said is not None
    return said


@pytest.mark.parametrize(
    ("nemesis", "wanted", "said"),
    [
        ("compact", {"workload": "latest"}, "try -w register"),
        ("compact", {"topic_config": {"cleanup.policy": "delete"}, "workload": "register"}, "-w"),
        ("compact", {"workload": "register", "time_limit_s": 6.5}, "try --time-limit 12"),
        ("retention", {"workload": "register"}, "only compacted topics"),
        ("retention", {"workload": "append"}, "does not poll"),
        ("kill@n9", {}, "unknown node n9; the nodes are n1 to n5"),
        ("pause:n1+n2", {"nodes": 1, "replication_factor": 1}, "the only node is n1"),
        ("disk:full@n6", {}, "unknown node n6"),
        ("clock@n6", {}, "unknown node n6"),
        ("packet:loss@n6", {}, "unknown node n6"),
        ("restart@followers", {"replication_factor": 1}, "no followers"),
        ("client:kill@c11", {}, "unknown client c11; the clients are c1 to c10"),
        ("partition:halves", {"nodes": 1}, "try partition:clients, or --nodes 5"),
        ("partition@n1", {"nodes": 1}, "try partition:clients, or --nodes 5"),
        ("partition:bridge", {"nodes": 2}, "bridge of 2 nodes cuts nothing"),
        ("partition:one-way@all", {}, "cuts nothing"),
        ("partition:one-way@n1+n2", {"nodes": 2}, "cuts nothing"),
        ("power", {"nodes": 2, "replication_factor": 2}, "min.insync.replicas=2 of 2 replicas"),
        ("disk:eio", {"topic_config": {"min.insync.replicas": "3"}}, "--unsafe-faults"),
        ("membership", {"nodes": 2, "replication_factor": 2}, "try a larger --nodes"),
        ("move", {"replication_factor": 1}, "--replication-factor 3"),
        ("kill,pause,partition", {"time_limit_s": 7}, "try --time-limit 10"),
        (WITHOUT_GROUPS, {"time_limit_s": 34.9, "workload": "both"}, "try --time-limit 35"),
        (
            "kill,pause,partition",
            {"time_limit_s": 1.5, "nemesis_interval_s": 1},
            "try --time-limit 2",
        ),
    ],
)
def test_what_is_certain_not_to_strike_is_refused(
    nemesis: str, wanted: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if wanted.get("workload") == "both":
        # No workload has a use for every nemesis, so one is made up for the sake of the time.
        monkeypatch.setattr("nemesis.compact.Compaction.why_never", lambda self, ground: None)
        wanted = {**wanted, "workload": "queue"}
    assert said in refusal(nemesis, **wanted)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_whatever_can_strike_is_not_refused(workload: str) -> None:
    never = {
        name
        for name in NEMESES
        if why_not_struck(replace(PLAN, workload=workload, nemesis=name)) is not None
    }
    expected = {
        "append": {"compact", "retention", "churn"},
        "register": {"retention", "churn"},
        "group": {"compact"},
        "exactly-once": {"compact"},
    }
    assert never == expected.get(workload, {"compact", "churn"})


@pytest.mark.parametrize(
    ("nemesis", "wanted"),
    [
        ("kill:n5,pause:followers,client:kill@c10", {}),
        ("power,membership", {"nodes": 3}),
        ("power,disk:eio", {"nodes": 1, "replication_factor": 1, "unsafe_faults": True}),
        ("membership", {"nodes": 3, "replication_factor": 2}),
        ("partition:one-way@majority,partition:bridge", {"nodes": 3}),
        ("kill,pause,partition", {"time_limit_s": 2, "nemesis_interval_s": 1}),
        ("compact", {"workload": "register", "time_limit_s": 12}),
        ("all", {"time_limit_s": 5}),
        ("none", {"time_limit_s": 1}),
        ("compact", {"schedule": "stored.json"}),
    ],
)
def test_what_may_strike_is_carried_out(nemesis: str, wanted: dict[str, Any]) -> None:
    assert why_not_struck(replace(PLAN, nemesis=nemesis, **wanted)) is None


def test_a_refusal_is_an_error_of_usage_at_once(tmp_path: Path) -> None:
    words = ["--on", "sim", "--nemesis", "kill@n9", "--store", str(tmp_path / "store")]
    with pytest.raises(
        click.UsageError, match="--nemesis kill@n9 cannot strike in this run: unknown node"
    ):
        run_test.main(words, standalone_mode=False)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (
            {"rate": 0.001, "time_limit_s": 2},
            "writes, and a verdict needs 50; try --rate 100",
        ),
        ({"rate": 49, "time_limit_s": 1, "concurrency": 1}, "a verdict needs 50"),
        ({"rate": 48, "time_limit_s": 1, "concurrency": 1, "nemesis": "client"}, "needs 50"),
        ({"rate": 60, "time_limit_s": 1}, "a verdict needs 50"),
        ({"rate": 60, "time_limit_s": 1, "workload": "append"}, "a verdict needs 50"),
        ({"topic_config": {"cleanup.policy": "compact"}}, "those of -w queue have none"),
        ({"topic_config": {"cleanup.policy": "delete,compact"}}, "try -w register"),
        ({"broker_config": {"log.cleanup.policy": "compact"}}, "try -w register"),
        ({"topic_config": {"max.message.bytes": "1"}}, "max.message.bytes=1 is too small"),
        ({"topic_config": {"max.message.bytes": "90"}}, "try max.message.bytes="),
        ({"broker_config": {"message.max.bytes": "90"}}, "try message.max.bytes="),
        ({"topic_config": {"max.message.bytes": "99"}, "workload": "register"}, "too small"),
        ({"broker_config": {"max.connections": "0"}}, "max.connections=0 allows no connection"),
        ({"broker_config": {"max.connections.per.ip": "0"}}, "allows no connection"),
        (
            {"broker_config": {"listener.name.plaintext.max.connections": "0"}},
            "allows no connection",
        ),
        ({"workload": "group", "concurrency": 2}, "needs at least 3 clients"),
    ],
)
def test_a_run_that_is_certain_to_write_too_little_is_refused(
    wanted: dict[str, Any], said: str
) -> None:
    assert said in (why_no_verdict(replace(PLAN, **wanted)) or "")


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"rate": 0.0, "time_limit_s": 1},
        {"rate": 100.0, "time_limit_s": 2},
        {"rate": 200.0, "time_limit_s": 1, "concurrency": 3},
        {"rate": 0.01, "time_limit_s": 86_400.0, "concurrency": 1000},
        {"topic_config": {"max.message.bytes": "200"}},
        {"topic_config": {"max.message.bytes": "200"}, "broker_config": {"message.max.bytes": "1"}},
        {"topic_config": {"max.message.bytes": "many"}},
        {"broker_config": {"max.connections": "1000"}},
        {
            "broker_config": {
                "max.connections.per.ip": "0",
                "max.connections.per.ip.overrides": "x:9",
            }
        },
    ],
)
def test_a_run_that_may_come_to_a_verdict_is_carried_out(
    workload: str, wanted: dict[str, Any]
) -> None:
    assert why_no_verdict(replace(PLAN, workload=workload, **wanted)) is None


def test_records_with_keys_may_be_compacted() -> None:
    compacted = {"cleanup.policy": "compact"}
    assert why_no_verdict(replace(PLAN, workload="register", topic_config=compacted)) is None
