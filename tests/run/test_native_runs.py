"""Runs with our own client on real sockets: every version, both protocols of groups, faults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from broker.protocol.apis import API_VERSIONS, ApiKey
from harness.history.history import History
from harness.native.versions import versions_of
from tests.run.commands import harness

NATIVE = ("--client", "native", "--protocol-versions", "random")


def requests(run: Path) -> list[dict[str, Any]]:
    """What the clients wrote about their requests."""
    logs = sorted((run / "clients").glob("c*.log"))
    return [json.loads(line) for log in logs for line in log.read_text().splitlines()]


def test_a_queue_is_judged_and_the_versions_repeat_by_the_seed(tmp_path: Path) -> None:
    words = ("--on", "local", "--nodes", "1", "--concurrency", "2", "--rate", "200", "--seed", "4")
    said = harness("test", *words, *NATIVE, "--time-limit", "4", "--json", cwd=tmp_path)
    assert said.exit_code == 0, str(said)
    run = tmp_path / "store" / "latest"
    assert json.loads((run / "plan.json").read_text())["protocol_versions"] == "random"
    assert "--protocol-versions random" in (run / "command.txt").read_text()
    spoken = {each["version"] for each in requests(run) if each.get("api") == "PRODUCE"}
    drawn = [versions_of("random", 4, client) for client in ("c1-0", "c2-1")]
    assert spoken == {each.of(ApiKey.PRODUCE, *API_VERSIONS[ApiKey.PRODUCE]) for each in drawn}
    assert len(spoken) == 2
    nodes = {op.node for op in History.load(run) if (op.type, op.f) == ("ok", "send")}
    assert nodes == {"n1"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_members_of_both_protocols_survive(tmp_path: Path, seed: str) -> None:
    """Seeds 1 to 3 have eager, cooperative and consumer groups, and all ways to commit."""
    words = ("--on", "local", "--nodes", "3", "-w", "group", "--nemesis", "kill:one,churn")
    limits = ("--time-limit", "12", "--nemesis-interval", "5", "--seed", seed, "--json")
    said = harness("test", *words, *NATIVE, *limits, cwd=tmp_path)
    assert said.exit_code == 0, str(said)
    history = list(History.load(tmp_path / "store" / "latest"))
    commits = [op for op in history if (op.type, op.f) == ("ok", "commit")]
    assert commits
    assert all(op.value["generation"] is not None for op in commits)
    assert {op.value["strategy"] for op in history if (op.type, op.f) == ("ok", "subscribe")}


@pytest.mark.slow
@pytest.mark.netns
@pytest.mark.parametrize("workload", ["queue", "group"])
def test_a_partition_is_survived_on_hosts_of_their_own(tmp_path: Path, workload: str) -> None:
    words = ("-w", workload, "--nemesis", "partition", "--nodes", "3", "--time-limit", "15")
    said = harness("test", *words, *NATIVE, "--seed", "1", "--json", cwd=tmp_path)
    assert said.exit_code == 0, str(said)


@pytest.mark.slow
def test_drawn_versions_repeat_in_the_simulator(tmp_path: Path) -> None:
    words = ("--on", "sim", "-w", "group", "--nemesis", "kill", "--time-limit", "5", "--seed", "1")
    found = []
    for at in ("first", "second"):
        said = harness(
            "test", *words, "--protocol-versions", "random", "--store", at, "--json", cwd=tmp_path
        )
        assert said.exit_code == 0, str(said)
        parts = sorted((tmp_path / at / "latest" / "history.parquet").iterdir())
        found.append([(part.name, part.read_bytes()) for part in parts])
    assert found[0] == found[1]
