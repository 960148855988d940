"""Whole runs in the simulator: valid where all is well, the same twice, unknown where missed."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from broker.partition import Partition
from broker.protocol.errors import ErrorCode, KafkaError
from harness.client.driver import DriverError
from harness.cluster.capabilities import StoredDamage
from harness.doubts import Doubt, DoubtKind
from harness.history.history import History
from harness.native.driver import NativeDriver
from harness.run.calm import rotate_leaders
from harness.run.outcome import Outcome
from harness.run.plan import Plan
from harness.run.run import execute
from harness.run.sim_clients import SimClients
from harness.run.watching import Silent
from harness.sim.clock import SimClock
from harness.sim.disk_faults import DiskFaults as SimDiskFaults
from harness.sim.invariants.base import Violation
from harness.sim.invariants.marks_rise import MarksRise
from harness.sim.invariants.step import Step
from harness.sim.links import Link as SimLink
from harness.sim.node_process import NodeProcess
from harness.sim.nodes import SimNode
from harness.sim.place_clocks import PlaceClocks
from harness.sim.place_network import PlaceNetwork
from harness.sim.processes import SimProcess
from harness.sim.sim_broker import SimBroker
from harness.sim.stored_logs import StoredLogs
from harness.store.store import Store
from harness.wire.match import MessageFaults
from nemesis import NEMESES
from nemesis.disk import DiskFaults
from tests.run.commands import harness

PAIRS = [
    *(("queue", nemesis) for nemesis in NEMESES if nemesis != "compact"),
    ("register", "compact"),
    ("append", "partition"),
    ("register", "kill"),
    ("admin", "partition"),
    ("latest", "pause"),
    ("keyed", "partition"),
    ("keyed", "client,kill"),
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
    few = {"nodes": 3, "rate": 40} if (workload, nemesis) in QUICK else {}
    outcome = run(tmp_path, workload=workload, nemesis=nemesis, **few)
    assert outcome.exit_code == 0, outcome.sentence()
    struck = [each for each in outcome.figures["faults"] if "proof" in each]
    assert struck, outcome.figures


def test_nobody_is_blamed_for_a_bit_that_the_harness_flipped(tmp_path: Path) -> None:
    once = {"nodes": 3, "rate": 30, "time_limit_s": 12.0}
    outcome = run(tmp_path, nemesis="disk:bit-flip", seed=13, **once)
    assert outcome.exit_code == 0, outcome.sentence()


@pytest.mark.long
def test_the_same_seed_gives_the_same_bytes_and_a_replay_the_same_faults(tmp_path: Path) -> None:
    """One test, because the replay needs a recorded run, and each run is a process of its own."""
    words = "test --on sim --nemesis kill:leader,partition --seed 11 --rate 40 --burst 4 --json"
    words += " --nodes 3 --time-limit 10"
    found = []
    for hash_seed in ("1", "2"):
        directory = tmp_path / hash_seed
        directory.mkdir()
        said = harness(*words.split(), cwd=directory, hash_seed=hash_seed)
        assert said.exit_code == 0, str(said)
        assert "fenced" not in said.error  # what nodes log is no line of the run's own
        latest = directory / "store" / "latest"
        found.append(
            [
                (latest / name).read_bytes()
                for name in ("history.parquet/ops.parquet", "schedule.json", "trace.arrow")
            ]
        )
    assert found[0] == found[1]
    again = harness("replay", "latest", "--json", cwd=directory)
    assert again.exit_code == 0, str(again)

    def faults(results: dict[str, Any]) -> list[tuple[str, str]]:
        return [(each["fault"], each["proof"]) for each in results["figures"]["faults"]]

    assert faults(said.results)
    assert faults(again.results) == faults(said.results)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("workload", ["append", "register", "admin"])
def test_no_seed_makes_a_sound_broker_guilty(tmp_path: Path, workload: str) -> None:
    for seed in range(20, 26):
        outcome = run(tmp_path, workload=workload, nemesis="partition,kill,pause", seed=seed)
        assert outcome.exit_code == 0, (seed, outcome.sentence())


FEW_LOSSES = {"nodes": 3, "rate": 100.0, "time_limit_s": 15.0}
"""Enough for a queue, where every record is read back: seeds 1 to 4 lose 11 to 91 records."""
MANY_LOSSES = {"rate": 150.0, "time_limit_s": 40.0}


@pytest.mark.parametrize(
    ("workload", "loss"),
    [
        ("queue", "lost-write"),
        pytest.param("append", "lost-append", marks=pytest.mark.slow),
        pytest.param("register", "replaced-get", marks=pytest.mark.slow),
    ],
)
def test_losses_are_found_and_the_contract_says_who_promised_what(
    tmp_path: Path, workload: str, loss: str
) -> None:
    outcome = run(
        tmp_path,
        workload=workload,
        nemesis="kill:leader,partition:leader",
        acks="1",
        enable_idempotence=False,
        broker_config={"unclean.leader.election.enable": "true"},
        burst=1,
        **(FEW_LOSSES if workload == "queue" else MANY_LOSSES),
    )
    assert outcome.exit_code == 1, outcome.sentence()
    assert loss in {each.type for each in outcome.anomalies}
    [sentence] = {each.contract for each in outcome.anomalies if each.type == loss}
    assert "does not promise it" in sentence


async def pretend(*_: Any, **__: Any) -> Any:
    """It says that it was done."""


async def pretend_to_end(*_: Any, **__: Any) -> int:
    return 0


def nothing(*_: Any, **__: Any) -> Any:
    """As above, of what happens at once."""


def damaged(*_: Any) -> StoredDamage:
    return StoredDamage("q-0", "it was damaged")


EFFECTS: list[tuple[str, list[tuple[type, str, Any]], str]] = [
    ("partition", [(PlaceNetwork, "cut", pretend)], "still open: "),
    ("partition:bridge", [(SimLink, "cut", nothing), (SimLink, "heal", nothing)], "still open"),
    ("kill", [(NodeProcess, "kill", pretend)], "still runs after it was killed"),
    ("pause", [(NodeProcess, "pause", pretend)], "still runs after it was paused"),
    ("restart", [(NodeProcess, "terminate", pretend_to_end)], "still runs after it was stopped"),
    ("move", [(SimBroker, "elect", pretend)], r"timed out after 15 s waiting until n\d leads"),
    ("packet:delay", [(SimLink, "slow_down", nothing), (SimLink, "speed_up", nothing)], "the link"),
    ("clock:jump", [(PlaceClocks, "jump", pretend)], r"the clock of n\d moved by"),
    ("clock:skew", [(PlaceClocks, "skew", pretend)], r"the clock of n\d gained"),
    ("clock:strobe", [(SimClock, "jump", nothing)], r"the clock of n\d moved by"),
    ("power", [(SimNode, "power_loss", lambda *_, **__: True)], "still has power"),
    ("disk:full", [(SimDiskFaults, "fill", nothing)], "still has .* bytes of disk free"),
    ("disk:read-only", [(SimDiskFaults, "make_read_only", nothing)], "can be written to"),
    ("disk:slow", [(SimDiskFaults, "slow", nothing)], "an answer from its disk in less than"),
    ("disk:eio", [(SimDiskFaults, "fail", nothing)], "a disk that works"),
    ("disk:bit-flip", [(StoredLogs, "flip_bit", damaged)], "as it was"),
    ("disk:truncated-tail", [(StoredLogs, "truncate_tail", damaged)], "as it was"),
    ("wire", [(MessageFaults, "decide", lambda *_: ())], "no message was hit"),
    ("compact", [(SimBroker, "alter_topic", pretend)], "lag.ms forbids it|no log of .* shrank"),
    ("retention", [(SimBroker, "delete_records", pretend)], "still begins at offset"),
    ("membership", [(SimBroker, "reassign", pretend)], r"the replicas of n\d did not move"),
    ("client:kill", [(SimClients, "kill", pretend)], "still runs after it was killed"),
    ("client:pause", [(SimProcess, "pause", nothing)], "still runs after it was paused"),
    ("client:cut", [(PlaceNetwork, "cut", pretend)], "still open: "),
    ("churn:slow", [(SimClients, "idle", pretend)], "still performs operations"),
]
"""A nemesis, what of the world is replaced so that it does nothing, and how that is told."""

QUICK_MISSES = ("partition", "kill", "client:kill")


class TestWithoutEffect:
    """A fault that did not happen makes a green run worthless, so it is not green."""

    @pytest.mark.parametrize(
        ("nemesis", "taken_away", "said"),
        [
            pytest.param(
                *each, marks=[] if each[0] in QUICK_MISSES else pytest.mark.slow, id=each[0]
            )
            for each in EFFECTS
        ],
    )
    def test_a_fault_that_does_nothing(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        nemesis: str,
        taken_away: list[tuple[type, str, Any]],
        said: str,
    ) -> None:
        for owner, method, instead in taken_away:
            monkeypatch.setattr(owner, method, instead)
        workload = {"compact": "register", "churn:slow": "group"}.get(nemesis, "queue")
        # A compaction takes its time, and when the load is over it is not to be had.
        for_s = 40.0 if nemesis == "compact" else 10.0
        # One stroke: of two that wait for long, each would have the other for an excuse.
        once = {"nodes": 3, "time_limit_s": for_s, "nemesis_interval_s": 2 * for_s}
        outcome = run(tmp_path, workload=workload, nemesis=nemesis, **once)
        assert outcome.exit_code == 2, outcome.sentence()
        assert "did not take hold" in outcome.sentence()
        assert not any("proof" in each for each in outcome.figures["faults"])
        missed = [each["missed"] for each in outcome.figures["faults"] if "missed" in each]
        assert missed
        assert all(re.search(said, each) for each in missed), missed

    def test_every_nemesis_is_among_them(self) -> None:
        assert {nemesis.partition(":")[0] for nemesis, *_ in EFFECTS} == set(NEMESES)
        disk = {nemesis.partition(":")[2].partition("@")[0] for nemesis, *_ in EFFECTS}
        assert disk >= set(DiskFaults.variants)

    def test_a_run_with_next_to_no_load(self, tmp_path: Path) -> None:
        outcome = run(tmp_path, rate=1.0, time_limit_s=5.0)
        assert outcome.exit_code == 2
        assert "too few writes" in outcome.sentence()

    def test_a_log_that_nobody_reads_back(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("harness.run.run._DRAIN_S", 0.0)
        outcome = run(tmp_path, time_limit_s=5.0, nodes=3)
        assert outcome.exit_code == 2
        assert "logs were not read back completely" in outcome.sentence()

    def test_a_client_that_cannot_do_its_work(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            SimClients,
            "doubts",
            (Doubt(DoubtKind.CLIENT_FAILED, "client 1", "could not go on: no"),),
        )
        outcome = run(tmp_path, time_limit_s=5.0)
        assert outcome.exit_code == 2
        assert "client 1 could not go on: no" in outcome.sentence()

    def test_a_last_question_that_nobody_answers(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The other clients' changes were looked at, so no checker has a reason to doubt."""
        describe = NativeDriver.describe_topic

        async def silent(self: NativeDriver, topic: str) -> dict[str, Any] | None:
            if topic.startswith("made-1-"):
                raise DriverError("REQUEST_TIMED_OUT")
            return await describe(self, topic)

        monkeypatch.setattr(NativeDriver, "describe_topic", silent)
        outcome = run(tmp_path, workload="admin", time_limit_s=6.0, nodes=3)
        assert outcome.exit_code == 2
        assert "final requests had no answer within 60 s" in outcome.sentence()
        assert 'describe {"topic": "made-1-' in outcome.sentence()


def test_a_broken_rule_of_the_broker_ends_a_simulated_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """White-box findings count, and the history so far is kept."""

    def fallen(self: MarksRise, step: Step) -> Violation | None:
        return step.broken(self.name, "on purpose") if step.scene.all_replicas() else None

    monkeypatch.setattr(MarksRise, "check", fallen)
    outcome = run(tmp_path, nodes=3)
    assert outcome.exit_code == 1
    assert [each.type for each in outcome.anomalies] == ["W-HWMONO"]
    assert outcome.anomalies[0].because.startswith("on purpose (at ")
    # What the history alone shows is asked for by switching them off.
    alone = run(tmp_path, invariants="off", time_limit_s=2.0, rate=100.0, nodes=3)
    assert alone.exit_code == 0, alone.sentence()
    assert "invariants" not in [each.checker for each in alone.verdicts]


def test_no_host_is_left_in_the_store(tmp_path: Path) -> None:
    outcome = run(tmp_path, time_limit_s=2.0, rate=100.0, nodes=3)
    assert outcome.exit_code == 0, outcome.sentence()
    assert not (outcome.directory / "hosts").exists()
    assert outcome.figures["calm"]["healed"]
    (available,) = [each for each in outcome.verdicts if each.checker == "availability"]
    assert available.stats["looked-at"] == outcome.figures["calm"]["partitions"] > 0
    assert len(outcome.figures["calm"]["writes"]["took_s"]) == available.stats["looked-at"]


def test_a_partition_that_takes_no_write_when_all_is_healed_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its leader has everybody in sync, answers, and refuses: no description shows that."""
    is_sabotaged, check_acks, rotate = False, Partition.check_acks, rotate_leaders

    def refusing(self: Partition, acks: int) -> None:
        if is_sabotaged and (self.topic, self.index) == ("queue1", 2):
            raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
        check_acks(self, acks)

    async def rotated(*all_of: Any) -> list[Doubt]:
        nonlocal is_sabotaged
        doubts = await rotate(*all_of)
        is_sabotaged = True
        return doubts

    monkeypatch.setattr(Partition, "check_acks", refusing)
    monkeypatch.setattr("harness.run.run.rotate_leaders", rotated)
    found = []
    for again in ("first", "second"):
        is_sabotaged = False
        outcome = run(tmp_path / again, time_limit_s=2.0, nodes=3, concurrency=4)
        assert outcome.exit_code == 1, outcome.sentence()
        assert [each.type for each in outcome.anomalies] == ["unavailable"]
        assert outcome.anomalies[0].because.startswith("queue1-2 acknowledged none of ")
        (late,) = outcome.figures["calm"]["writes"]["late"]
        assert (late["partition"], late["heard"], len(late["isr"])) == ("queue1-2", True, 3)
        assert 30 <= late["tried_s"] < 60
        assert late["tries"] >= 2
        assert len(outcome.figures["calm"]["writes"]["took_s"]) == 7
        found.append(outcome.figures["calm"])
    assert found[0] == found[1], "the same seed, the same figures"


def test_a_store_that_fills_up_ends_the_run_with_a_sentence_and_keeps_what_is_there(
    tmp_path: Path,
) -> None:
    words = "-m harness test --on sim --nodes 1 --time-limit 5 --seed 1 --store store".split()
    bounded = f"ulimit -f 40; exec {shlex.join([sys.executable, *words])}"
    done = subprocess.run(
        ["bash", "-c", bounded],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 255, done
    assert "Traceback" not in done.stderr
    assert "File too large; what was recorded until then is kept" in done.stderr
    assert len(History.load(tmp_path / "store" / "latest")) > 0
