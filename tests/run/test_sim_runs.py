"""Whole runs in the simulator: valid where all is well, the same twice, unknown where missed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.cluster.capabilities import Link
from harness.run.outcome import Outcome
from harness.run.plan import Plan
from harness.run.run import execute
from harness.run.watching import Silent
from harness.sim.invariants.base import Violation
from harness.sim.invariants.marks_rise import MarksRise
from harness.sim.invariants.step import Step
from harness.sim.place_network import PlaceNetwork
from harness.store.store import Store
from nemesis import NEMESES
from tests.run.commands import harness

PAIRS = [
    *(("queue", nemesis) for nemesis in NEMESES if nemesis != "compact"),
    ("register", "compact"),
    ("append", "partition"),
    ("register", "kill"),
    ("admin", "partition"),
    ("latest", "pause"),
    ("queue", "partition,kill,pause,power"),
]
QUICK = {("queue", "partition"), ("register", "compact")}


def run(tmp_path: Path, **wanted: Any) -> Outcome:
    plan = Plan(on="sim", rate=60, time_limit_s=20, nemesis_interval_s=6, seed=3)
    return execute(replace(plan, **wanted), Store(tmp_path), Silent())


@pytest.mark.parametrize(
    ("workload", "nemesis"),
    [
        pytest.param(*pair, marks=[] if pair in QUICK else pytest.mark.slow, id="-".join(pair))
        for pair in PAIRS
    ],
)
def test_a_sound_broker_is_found_valid(tmp_path: Path, workload: str, nemesis: str) -> None:
    outcome = run(tmp_path, workload=workload, nemesis=nemesis)
    assert outcome.exit_code == 0, outcome.sentence()
    struck = [each for each in outcome.figures["faults"] if "proof" in each]
    assert struck, outcome.figures


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    words = "test --on sim --nemesis kill,partition --seed 11 --rate 40 --time-limit 10 --json"
    found = []
    for hash_seed in ("1", "2"):
        directory = tmp_path / hash_seed
        directory.mkdir()
        said = harness(*words.split(), cwd=directory, hash_seed=hash_seed)
        assert said.exit_code == 0, str(said)
        latest = directory / "store" / "latest"
        found.append(
            [
                (latest / name).read_bytes()
                for name in ("history.parquet/ops.parquet", "schedule.json", "trace.arrow")
            ]
        )
    assert found[0] == found[1]


def test_a_replay_in_the_simulator_is_the_same_run(tmp_path: Path) -> None:
    words = "test --on sim --nemesis kill:leader --seed 4 --rate 40 --time-limit 10 --json"
    first = harness(*words.split(), cwd=tmp_path)
    assert first.exit_code == 0, str(first)
    again = harness("replay", "latest", "--json", cwd=tmp_path)
    assert again.exit_code == 0, str(again)

    def faults(results: dict[str, Any]) -> list[tuple[str, str]]:
        return [(each["fault"], each["proof"]) for each in results["figures"]["faults"]]

    assert faults(first.results)
    assert faults(again.results) == faults(first.results)


def test_lost_writes_are_found_and_the_contract_says_who_promised_what(tmp_path: Path) -> None:
    outcome = run(
        tmp_path,
        nemesis="kill:leader,partition:leader",
        acks="1",
        enable_idempotence=False,
        broker_config={"unclean.leader.election.enable": "true"},
        rate=150.0,
        time_limit_s=40.0,
    )
    assert outcome.exit_code == 1, outcome.sentence()
    assert "lost-write" in {each.type for each in outcome.anomalies}
    [sentence] = {each.contract for each in outcome.anomalies if each.type == "lost-write"}
    assert "does not promise it" in sentence


class TestWithoutEffect:
    """A fault that did not happen makes a green run worthless, so it is not green."""

    def test_a_cut_that_cuts_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        async def pretend(self: PlaceNetwork, links: list[Link]) -> None:
            pass

        monkeypatch.setattr(PlaceNetwork, "cut", pretend)
        outcome = run(tmp_path, nemesis="partition")
        assert outcome.exit_code == 2
        assert "did not take hold" in outcome.sentence()

    def test_a_run_with_next_to_no_load(self, tmp_path: Path) -> None:
        outcome = run(tmp_path, rate=1.0, time_limit_s=5.0)
        assert outcome.exit_code == 2
        assert "too few writes" in outcome.sentence()

    def test_a_log_that_nobody_reads_back(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("harness.run.run._DRAIN_S", 0.0)
        outcome = run(tmp_path, time_limit_s=10.0)
        assert outcome.exit_code == 2
        assert "not everything could be read back" in outcome.sentence()


def test_a_broken_rule_of_the_broker_ends_a_simulated_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """White-box findings count, and the history so far is kept."""

    def fallen(self: MarksRise, step: Step) -> Violation | None:
        return step.broken(self.name, "on purpose") if step.scene.all_replicas() else None

    monkeypatch.setattr(MarksRise, "check", fallen)
    outcome = run(tmp_path)
    assert outcome.exit_code == 1
    assert [each.type for each in outcome.anomalies] == ["W-HWMONO"]
    assert "on purpose" in outcome.anomalies[0].because


def test_no_host_is_left_in_the_store(tmp_path: Path) -> None:
    outcome = run(tmp_path, time_limit_s=5.0, rate=200.0)
    assert outcome.exit_code == 0, outcome.sentence()
    assert not (outcome.directory / "hosts").exists()
