"""harness sim: what it says, and what it exits with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.cli import main
from harness.native.errors import NoLeaderError
from harness.schedule.schedule import Schedule
from harness.sim.actors import Actor
from harness.sim.invariants.base import Cost, Violation
from harness.sim.invariants.comeback import Comeback
from harness.sim.run import Ended, draw_schedule
from harness.sim.sweep import SeedEnded, Seeds, run_seed
from harness.sim.totals import Totals
from harness.sim.verdict import Outcome, Verdict

SHORT = ["--length", "20", "--nodes", "3"]


def run(*argv: str) -> int:
    with pytest.raises(SystemExit) as exited:
        main(["sim", *argv])
    assert isinstance(exited.value.code, int)
    return exited.value.code


def test_a_seed_is_played_and_told_how_to_play_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--seed", "4", *SHORT) == 0
    told = capsys.readouterr().out
    assert "valid: no acknowledged record was lost" in told
    assert told.endswith("run it again with: harness sim --seed 4 --nodes 3 --length 20\n")


def test_a_saved_schedule_is_the_same_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved, trace = tmp_path / "schedule.json", tmp_path / "trace.arrow"
    assert run("--seed", "5", "--save-schedule", str(saved), "--trace", str(trace), *SHORT) == 0
    drawn = capsys.readouterr().out
    assert trace.stat().st_size > 0
    assert run("--schedule", str(saved)) == 0
    assert _digest(drawn) == _digest(capsys.readouterr().out)


def test_a_trace_that_cannot_be_written_is_told_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(*_: object, **__: object) -> Ended:
        raise AssertionError("it was run")

    monkeypatch.setattr("harness.sim.run.run_schedule", never)
    nowhere = tmp_path / "missing" / "trace.arrow"
    assert run("--seed", "4", "--trace", str(nowhere), *SHORT) == 255
    assert f"{nowhere}: No such file or directory" in capsys.readouterr().err


def _digest(told: str) -> str:
    return next(line for line in told.splitlines() if line.startswith("digest"))


@pytest.mark.parametrize("argv", [[], ["--seed", "1", "--schedule", "f"], ["--seed", "x"]])
def test_what_cannot_be_meant_is_refused(argv: list[str]) -> None:
    assert run(*argv) == 254


def test_a_file_that_is_no_schedule_is_refused_by_what_is_wrong_with_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "schedule.json"
    plain = json.loads(draw_schedule(1, nodes=3, length_ms=20_000).text())
    plain["faults"] = [{"kind": "flood", "name": "f", "at_ms": 1}]
    file.write_text(json.dumps(plain))
    assert run("--schedule", str(file)) == 254
    assert "flood" in capsys.readouterr().err


NO_TRANSACTIONS = "W-TXN, W-PID, W-MARK, W-OPEN"


@pytest.mark.parametrize(
    ("watched", "told"),
    [
        ("off", ", and no invariant was checked\n"),
        ("cheap", f", and 20 invariants held; nothing to compare for {NO_TRANSACTIONS}, W-PLACE\n"),
        (
            "all",
            f", and 23 invariants held; nothing to compare for {NO_TRANSACTIONS}, W-PLACE, W-OWN\n",
        ),
    ],
)
def test_only_what_was_asked_is_said_to_have_held(
    watched: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--seed", "4", *SHORT, "--invariants", watched) == 0
    said = capsys.readouterr().out
    assert told in said, said
    assert ("--invariants" in said) == (watched != "all")


def played(tmp_path: Path, **parts: Any) -> int:
    file = tmp_path / "schedule.json"
    document = {"version": 1, "seed": 1, "nodes": 3, "length_ms": 8000, **parts}
    file.write_text(json.dumps(document))
    return run("--schedule", str(file))


def test_what_never_took_hold_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kill = {"kind": "kill", "at_ms": 5000, "node": "n1"}
    played(
        tmp_path,
        faults=[
            {**kill, "name": "f1", "for_ms": 900},
            {**kill, "name": "f2", "at_ms": 5100, "for_ms": 1},
            {**kill, "name": "f3", "at_ms": 900_000},
        ],
        message_faults=[{"name": "m1", "match": {"api": "EndTxn"}, "action": {"kind": "drop"}}],
        crash_points=[{"node": "n2", "operation": "rename", "nth": 900}],
    )
    assert (
        "never took hold: fault f2, fault f3, message fault m1 (0 messages matched), "
        "crash point before rename 900 of n2\n" in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"properties": {"log.segment.bytes": "x"}}, "log.segment.bytes"),
        (
            {"overrides": [{"purpose": "reqest_delay", "name": "", "ordinal": 0, "value": 0.5}]},
            "nothing is decided for 'reqest_delay'; did you mean request_delay?",
        ),
        ({"faults": [{"kind": []}]}, "no fault is a []"),
    ],
)
def test_what_the_simulator_cannot_play_is_refused(
    parts: dict[str, Any], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert played(tmp_path, **parts) == 254
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_a_file_that_is_no_text_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "schedule.json"
    file.write_bytes(b'{"version": 1, "seed": "\xff"}')
    assert run("--schedule", str(file)) == 254
    assert "is no UTF-8" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("found", "code"),
    [
        ({"broken": Violation("W-ELECT", "two lead epoch 3", 7, 1.5)}, 1),
        ({"problems": ["lost: a"]}, 1),
        ({"first_ack_s": None}, 2),
        ({"comeback": Comeback(unavailable=("t-0 has no leader",))}, 1),
        ({"comeback": Comeback(behind=("n1 is late",)), "looks": {"W-REJOIN": 1}}, 1),
        ({"unsettled": 1}, 2),
        ({"first_ack_s": 20.1}, 2),
        ({"stopped": "the main coroutine had not ended at 280.0 s"}, 2),
        ({"totals": Totals(acknowledged_writes=99)}, 2),
        ({}, 0),
    ],
)
def test_only_a_run_that_showed_enough_is_valid(
    found: dict[str, object], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = Ended(
        **{  # type: ignore[arg-type]
            "schedule": draw_schedule(1, nodes=3, length_ms=20_000),
            "problems": [],
            "totals": Totals(acknowledged_writes=100),
            "first_ack_s": 0.1,
            "digest": "d" * 64,
            "length_s": 20.0,
            "unsettled": 0,
            "broken": None,
            **found,
        }
    )
    monkeypatch.setattr("harness.sim.run.run_schedule", lambda *_, **__: ended)
    assert run("--seed", "1", *SHORT) == code
    # The very same verdict if the seed is one of many.
    monkeypatch.setattr("harness.sim.sweep.run_schedule", lambda *_, **__: ended)
    assert (run_seed(1).failure is None) == (code == 0)


def test_many_seeds_are_one_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {8: Verdict(Outcome.INVALID, ("lost: a",)), 9: Verdict(Outcome.UNKNOWN, ("late",))}

    def ended(seed: int, setting: Seeds) -> SeedEnded:
        everything = Totals(**dict.fromkeys(Totals.__slots__, 1))
        verdict = found.get(seed, Verdict(Outcome.VALID, ("all is well",)))
        return SeedEnded(seed, verdict, everything, 0.1, 40.0)

    monkeypatch.setattr("harness.sim.sweep.run_seed", ended)
    assert run("--seed", "1", "--count", "5") == 0
    assert run("--seed", "5", "--count", "5") == 1
    told = capsys.readouterr().out
    assert "seed 8: invalid: lost: a\n  run it again with: harness sim --seed 8" in told
    assert "seed 9: unknown: late" in told
    assert run("--seed", "9", "--count", "5") == 2


def test_a_sweep_can_stop_at_the_first_seed_that_is_not_valid(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = []

    def ended(seed: int, setting: Seeds) -> SeedEnded:
        ran.append(seed)
        outcome = Outcome.INVALID if seed in (3, 5) else Outcome.VALID
        everything = Totals(**dict.fromkeys(Totals.__slots__, 1))
        return SeedEnded(seed, Verdict(outcome, ("lost: a",)), everything, 0.1, 40.0)

    monkeypatch.setattr("harness.sim.sweep.run_seed", ended)
    assert run("--seed", "1", "--count", "9", "--stop-at-first") == 1
    assert ran == [1, 2, 3]
    told = capsys.readouterr().out
    assert "invalid: 1 of 3 seeds\n" in told
    assert "stopped at the first one: 6 seeds were not run\n" in told
    assert run("--seed", "6", "--count", "3", "--stop-at-first") == 0
    assert "valid: 3 seeds\n" in capsys.readouterr().out


def test_stopping_at_the_first_of_one_run_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--seed", "1", "--stop-at-first") == 254
    assert "--count" in capsys.readouterr().err


def test_an_invariant_with_nothing_to_look_at_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = Ended(
        schedule=draw_schedule(1, nodes=3, length_ms=20_000),
        problems=[],
        totals=Totals(acknowledged_writes=100),
        first_ack_s=0.1,
        digest="d" * 64,
        length_s=20.0,
        unsettled=0,
        broken=None,
        looks={"W-ELECT": 3, "W-SNAP": 0},
    )
    monkeypatch.setattr("harness.sim.run.run_schedule", lambda *_, **__: ended)
    assert run("--seed", "1", *SHORT) == 0
    assert "and 1 invariants held; nothing to compare for W-SNAP" in capsys.readouterr().out


@pytest.mark.parametrize(
    "option",
    [["--schedule", "f"], ["--save-schedule", "f"], ["--trace", "f"], ["--node-logs"]],
    ids=lambda option: option[0],
)
def test_what_is_for_one_run_is_refused_with_many(
    option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    which = [] if option[0] == "--schedule" else ["--seed", "1"]
    assert run(*which, "--count", "2", *option) == 254
    assert f"{option[0]} is for one run" in capsys.readouterr().err


def test_many_seeds_are_run_as_one_would_be_and_told_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[int, float, Cost | None]] = []

    def ended(schedule: Schedule, *, watching: Cost | None, judge: object) -> Ended:
        asked.append((schedule.nodes, schedule.length_ms, watching))
        raise LookupError("whatever it is")

    monkeypatch.setattr("harness.sim.sweep.run_schedule", ended)
    assert run("--seed", "1", "--count", "2", "--invariants", "cheap", *SHORT) == 2
    assert asked == [(3, 20_000.0, Cost.CHEAP)] * 2
    told = capsys.readouterr().out
    assert "LookupError: whatever it is" in told
    assert "harness sim --seed 2 --nodes 3 --length 20 --invariants cheap\n" in told


def test_a_run_that_cannot_go_on_is_told_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever reads everything back may find nobody who answers."""

    async def read_everything(self: Actor, partitions: int) -> None:
        raise NoLeaderError("t-0 has no leader")

    monkeypatch.setattr(Actor, "read_everything", read_everything)
    assert run("--seed", "1", *SHORT) == 2
    assert "unknown: the run stopped: t-0 has no leader" in capsys.readouterr().out
