"""A stored run is judged by what its workload names, and by no more than was read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.doubts import Doubt, DoubtKind
from harness.history.op import NEMESIS
from harness.history.recorder import Recorder
from harness.run.judging import (
    anomaly_so_far,
    judge,
    judge_again,
    summary,
)
from harness.run.outcome import Outcome
from harness.run.plan import Plan
from harness.store.results import Figures

LATE = (Doubt(DoubtKind.NOT_READ_BACK, detail="within 1 s: all of append-0 is left"),)


def stored(directory: Path, *operations: tuple[str, str, Any]) -> None:
    """One after the other, by one process each."""
    recorder = Recorder(directory / "history")
    for number, (type_, f, value) in enumerate(operations):
        recorder.record(2 * number, number, "invoke", f, None)
        recorder.record(2 * number + 1, number, type_, f, value)  # type: ignore[arg-type]
    recorder.close()


def appends(count: int) -> list[tuple[str, str, Any]]:
    return [("ok", "txn", [["append", "append-0", value]]) for value in range(count)]


def read(*values: int) -> tuple[str, str, Any]:
    return "ok", "txn", [["r", "append-0", list(values)]]


def polled_from(key: str, *values: int) -> tuple[str, str, Any]:
    return "ok", "poll", [["poll", {key: [[value, value] for value in values]}]]


def polled(*values: int) -> tuple[str, str, Any]:
    return polled_from("append-0", *values)


def judged(directory: Path, doubts: tuple[Doubt, ...] = (), **wanted: Any) -> Outcome:
    return judge(directory, Plan(workload="append", **wanted), doubts, {})


def types(outcome: Outcome) -> set[str]:
    return {anomaly.type for anomaly in outcome.anomalies}


def test_a_run_of_appends_that_kept_everything_is_valid(tmp_path: Path) -> None:
    stored(tmp_path, *appends(60), read(*range(60)), polled(*range(60)))
    outcome = judged(tmp_path)
    assert outcome.exit_code == 0, outcome.sentence()
    assert [verdict.checker for verdict in outcome.verdicts][:2] == ["list-append", "lost-append"]


def test_an_append_that_is_gone_in_the_end_is_found_only_if_all_was_read(tmp_path: Path) -> None:
    stored(tmp_path, *appends(60), read(*range(60)), polled(*range(59)))
    assert types(judged(tmp_path)) == {"lost-append"}
    assert judged(tmp_path, LATE).exit_code == 2


def test_what_a_run_that_was_broken_off_did_not_read_is_not_lost(tmp_path: Path) -> None:
    stored(tmp_path, *appends(60), read(*range(60)), polled(*range(59)))
    assert types(judged(tmp_path, (Doubt(DoubtKind.BROKEN_OFF),))) == set()


def test_reads_alone_are_too_little(tmp_path: Path) -> None:
    stored(tmp_path, *appends(3), *[read(0, 1, 2)] * 60, polled(0, 1, 2))
    outcome = judged(tmp_path)
    assert outcome.exit_code == 2
    (doubt,) = outcome.doubts
    assert doubt == Doubt(DoubtKind.TOO_FEW_WRITES, detail="3 of at least 50")


@pytest.mark.parametrize(
    ("doubts", "exit_code"),
    [
        ((), 1),
        (
            (
                Doubt(
                    DoubtKind.OUT_OF_SYNC,
                    detail="timed out after 60 s waiting until every replica is in sync",
                ),
            ),
            2,
        ),
        ((Doubt(DoubtKind.NOT_HEALED, "n1", "n1 does not run"),), 2),
    ],
)
def test_a_change_is_lost_only_where_all_brokers_had_caught_up(
    tmp_path: Path, doubts: tuple[Doubt, ...], exit_code: int
) -> None:
    topic = {"topic": "admin-t"}
    stored(
        tmp_path,
        *[("ok", "send", [["send", "admin-0", [value, value]]]) for value in range(60)],
        polled_from("admin-0", *range(60)),
        ("ok", "create", {**topic, "partitions": 1}),
        ("ok", "describe", {**topic, "exists": False, "settled": True}),
    )
    outcome = judge(tmp_path, Plan(workload="admin"), doubts, {})
    assert outcome.exit_code == exit_code, outcome.sentence()


def test_lists_that_contradict_each_other_are_found_whatever_was_read(tmp_path: Path) -> None:
    stored(tmp_path, *appends(60), read(*range(60)), read(*range(50), 55), polled(*range(60)))
    assert types(judged(tmp_path, LATE)) == {"incompatible-order"}
    so_far = anomaly_so_far(tmp_path, Plan(workload="append"))
    assert so_far is not None
    assert so_far.startswith("incompatible-order: ")


def test_what_is_not_read_yet_stops_no_run(tmp_path: Path) -> None:
    stored(tmp_path, *appends(60), read(*range(30)), polled(*range(30)))
    assert anomaly_so_far(tmp_path, Plan(workload="append")) is None


@pytest.mark.parametrize(("contract", "exit_code"), [("safe", 1), ("configured", 0)])
def test_a_loss_is_judged_by_the_contract_that_was_asked_for(
    tmp_path: Path, contract: str, exit_code: int
) -> None:
    stored(tmp_path, *appends(60), read(*range(60)), read(*range(50), 55), polled(*range(50), 55))
    plan: dict[str, Any] = {"acks": "1", "enable_idempotence": False, "contract": contract}
    assert judged(tmp_path, **plan).exit_code == exit_code


def test_a_run_that_came_to_no_end_has_no_figures_and_can_be_told(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "history")
    recorder.record(0, NEMESIS, "info", "start-kill", {"kind": "kill", "name": "kill 1/n1"})
    recorder.record(1, NEMESIS, "info", "start-kill", {"fault": "kill 1/n1", "proof": "gone"})
    recorder.close()
    outcome = judge_again(tmp_path, Plan(workload="append", nemesis="kill"))
    assert outcome.figures == {}
    assert summary(outcome)[0].startswith("unknown: the run did not finish")

    counts = Figures(ok=0, fail=0, info=0, acknowledged=0, read=0)
    ended = judge(tmp_path, Plan(workload="append", nemesis="kill"), (), counts)
    assert ended.figures["survived"] == {"faults": {"kill": 1}, "writes": 0}


WELL = {
    "healed": True,
    "waited_s": 0.4,
    "nodes": {"n1": True},
    "struck": [],
    "partitions": 2,
    "unwell": [],
}


WRITES = {"before": 60, "acknowledged": 2, "took_s": {"t-0": 0.01, "t-1": 0.01}, "late": []}
LATE_WRITE = {
    "partition": "t-0",
    "leader": "n1",
    "isr": ["n1"],
    "replicas": ["n1"],
    "min_isr": 1,
    "tries": 3,
    "tried_s": 30.4,
    "took_s": None,
    "heard": True,
    "error": None,
}


def test_writes_when_all_was_healed_are_not_counted_as_load(tmp_path: Path) -> None:
    stored(tmp_path, *appends(52), read(*range(52)), polled(*range(52)))
    for acknowledged, exit_code in ((2, 0), (3, 2)):
        calm = {**WELL, "writes": {**WRITES, "acknowledged": acknowledged}}
        outcome = judge(tmp_path, Plan(workload="append"), (), {"calm": calm})
        assert outcome.exit_code == exit_code, outcome.sentence()
    assert outcome.doubts == (Doubt(DoubtKind.TOO_FEW_WRITES, detail="49 of at least 50"),)


@pytest.mark.parametrize(
    ("calm", "exit_code"),
    [
        (WELL, 0),
        ({**WELL, "writes": WRITES}, 0),
        ({**WELL, "writes": {**WRITES, "late": [LATE_WRITE]}}, 1),
        ({**WELL, "writes": {**WRITES, "late": [{"partition": "t-0"}]}}, 2),
        ({**WELL, "writes": []}, 2),
        ({**WELL, "waited_s": 61, "unwell": [{"partition": "t-0", "leader": None, "isr": ["n1"],
                                              "replicas": ["n1"], "min_isr": 1}]}, 1),
        ({**WELL, "partitions": 0}, 2),
        ({"healed": True}, 2),
        ([], 2),
    ],
)  # fmt: skip
def test_a_cluster_that_does_not_come_back_is_a_finding(
    tmp_path: Path, calm: Any, exit_code: int
) -> None:
    stored(tmp_path, *appends(60), read(*range(60)), polled(*range(60)))
    outcome = judge(tmp_path, Plan(workload="append"), (), {"calm": calm})
    assert outcome.exit_code == exit_code, outcome.sentence()
    assert types(outcome) == ({"unavailable"} if exit_code == 1 else set())


APPEND_TIME = {"message.timestamp.type": "LogAppendTime"}


def stamped_sends(directory: Path, *stamps: int | None) -> None:
    """Sixty sends and a poll of all, with timestamps of the first few polled records."""
    sends = [("ok", "send", [["send", "queue1-0", [value, value]]]) for value in range(60)]
    with Recorder(directory / "history") as recorder:
        for number, (type_, f, value) in enumerate([*sends, polled_from("queue1-0", *range(60))]):
            timestamps = None
            if f == "poll" and stamps:
                timestamps = [{"queue1-0": [*stamps, *[None] * (60 - len(stamps))]}]
            recorder.record(2 * number, number, "invoke", f, None)
            recorder.record(2 * number + 1, number, "ok", f, value, timestamps=timestamps)
            assert type_ == "ok"


def test_a_run_without_timestamps_is_not_judged_by_them_and_not_doubted(tmp_path: Path) -> None:
    stamped_sends(tmp_path)
    outcome = judge(tmp_path, Plan(), (), {})
    assert outcome.exit_code == 0, outcome.sentence()
    (left_out,) = outcome.not_judged
    assert left_out.checker == "timestamp-order"
    assert "not judged: timestamp-order, because it needs that clients recorded timestamps" in (
        "\n".join(summary(outcome))
    )


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"topic_config": APPEND_TIME}, {"timestamp-order"}),
        ({"topic_config": APPEND_TIME, "on": "sim"}, {"timestamp-order"}),
        ({"topic_config": APPEND_TIME, "on": "ssh"}, set()),
        ({"topic_config": APPEND_TIME, "nemesis": "kill,clock:jump"}, set()),
        ({"broker_config": {"log.message.timestamp.type": "LogAppendTime"}}, {"timestamp-order"}),
        ({}, set()),
    ],
)
def test_timestamps_are_judged_by_the_settings_of_the_run(
    tmp_path: Path, wanted: dict[str, Any], found: set[str]
) -> None:
    stamped_sends(tmp_path, 70, 69)
    assert types(judge(tmp_path, Plan(**wanted), (), {})) == found


def test_a_cluster_that_runs_already_has_settings_that_nobody_knows(tmp_path: Path) -> None:
    stamped_sends(tmp_path, 70, 69)
    there = {"on": "running", "system": "running", "bootstrap_servers": "a:1"}
    outcome = judge(tmp_path, Plan(**there), (), {})  # type: ignore[arg-type]
    assert [each.checker for each in outcome.not_judged] == ["timestamp-order"]
    known = judge(tmp_path, Plan(**there, topic_config=APPEND_TIME), (), {})  # type: ignore[arg-type]
    assert not known.not_judged
    assert [each.type for verdict in known.verdicts for each in verdict.allowed] == [
        "timestamp-order"
    ]


@pytest.mark.parametrize(("writes_meanwhile", "exit_code"), [(0, 2), (1, 0)])
def test_a_fault_under_which_nothing_was_written_makes_a_run_unknown(
    tmp_path: Path, writes_meanwhile: int, exit_code: int
) -> None:
    second = 1_000_000_000
    recorder = Recorder(tmp_path / "history")
    fault = {"kind": "kill", "name": "kill 1/n1", "node": "n1"}
    recorder.record(0, NEMESIS, "info", "start-kill", fault)
    for value, (_, f, done) in enumerate(appends(60)):
        at = value * second // 10 + (0 if value < 30 else 10 * second)
        recorder.record(at, value, "invoke", f, done)
        recorder.record(at + 1, value, "ok", f, done)
        if value == 29:
            proof = {"fault": "kill 1/n1", "proof": "gone"}
            recorder.record(at + 2, NEMESIS, "info", "start-kill", proof)
            for extra in range(60, 60 + writes_meanwhile):
                more = [["append", "append-0", extra]]
                recorder.record(at + second, extra, "invoke", f, more)
                recorder.record(at + second, extra, "ok", f, more)
            healed = {"fault": "kill 1/n1", "healed": True}
            recorder.record(at + 9 * second, NEMESIS, "info", "stop-kill", healed)
    final = [*range(30), *range(60, 60 + writes_meanwhile), *range(30, 60)]
    for _, f, done in (read(*final), polled(*final)):
        recorder.record(30 * second, 99, "invoke", f, None)
        recorder.record(30 * second, 99, "ok", f, done)
    recorder.close()
    plan = Plan(workload="append", nemesis="kill")
    for outcome in (judge(tmp_path, plan, (), Figures(ok=1)), judge_again(tmp_path, plan)):
        assert outcome.exit_code == exit_code, outcome.sentence()
        expected = [DoubtKind.NO_WRITES_IN_FAULTS] if exit_code else []
        assert [doubt.kind for doubt in outcome.doubts] == expected
