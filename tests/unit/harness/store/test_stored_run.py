"""Stored runs that were damaged by hand: each is one sentence, and hides no other run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from checkers.verdict import Validity
from harness.cli import main
from harness.history.recorder import Recorder
from harness.run.plan import Plan
from harness.store.inside import DamagedError, MissingError, open_inside, write_inside
from harness.store.stored_run import read_began, read_plan, read_results

SOUND: dict[str, Any] = {
    "run": "20261116T001530.123Z",
    "command": "harness test",
    "valid": True,
    "doubts": [],
    "figures": {},
    "checks": [],
}
CHECK = {
    "checker": "unseen",
    "valid": True,
    "anomaly-types": [],
    "allowed": [],
    "anomalies": {},
    "stats": {},
}
DAMAGED = {
    "": "it is empty",
    "[]": "Expected `object`, got `array`",
    '{"run": "2026': "Unterminated string",
    json.dumps({name: said for name, said in SOUND.items() if name != "checks"}): "`checks`",
    json.dumps(SOUND | {"valid": "maybe"}): r"\$\.valid",
    json.dumps(SOUND | {"figures": {"ok": "many"}}): r"\$\.figures\.ok",
    json.dumps(SOUND | {"checks": [CHECK | {"anomalies": []}]}): r"\$\.checks\[0\]\.anomalies",
    "[" * 100_000: "nested too deeply",
    "\ufeff\udcff": "utf-8",
}


def run_in(store: Path, text: str | None, time: str = "20261116T001530.123Z") -> Path:
    directory = store / "queue kill" / time
    directory.mkdir(parents=True)
    (directory / "plan.json").write_text(Plan(seed=7).text())
    if text is not None:
        (directory / "results.json").write_bytes(text.encode(errors="surrogateescape"))
    return directory


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(list(words))
    said = capsys.readouterr()
    assert isinstance(end.value.code, int)
    return end.value.code, said.out, said.err


def test_sound_results_are_read_with_all_that_is_in_them(tmp_path: Path) -> None:
    sound = SOUND | {"checks": [CHECK | {"stats": {"looks": {"W-ISR": 7}}}]}
    found = read_results(run_in(tmp_path, json.dumps(sound)))
    (verdict,) = found.verdicts
    assert verdict.stats == {"looks": {"W-ISR": 7}}
    assert (found.run, found.command) == (SOUND["run"], SOUND["command"])


@pytest.mark.parametrize(("text", "why"), DAMAGED.items())
def test_damaged_results_say_what_is_wrong_with_them(text: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(DamagedError, match=rf"results\.json is damaged: .*{why}.*harness analyze"):
        read_results(run_in(tmp_path, text))


def test_one_damaged_run_hides_no_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, text in enumerate((*DAMAGED, None, json.dumps(SOUND)), 1):
        run_in(tmp_path, text, f"20261116T0015{number:02}.000Z")
    os.mkfifo(run_in(tmp_path, None, "20261116T001600.000Z") / "results.json")
    (tmp_path / "queue kill" / "20261116T001700.000Z").write_text("a file, not a run")
    code, out, _ = told(capsys, "ls", "--store", str(tmp_path))
    lines = out.splitlines()
    assert code == 0
    assert len(lines) == len(DAMAGED) + 3
    assert all(line.startswith("corrupt ") for line in lines[: len(DAMAGED)])
    assert lines[0].endswith("results.json: it is empty")
    assert lines[-3].startswith("no end ")
    assert lines[-2].startswith("valid ")
    assert lines[-1].endswith("results.json: it is no regular file")


def test_a_run_with_torn_results_is_judged_by_its_history(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = run_in(tmp_path, '{"run": "2026')
    with Recorder(directory / "history") as recorder:
        for number in range(60):
            recorder.record(2 * number, 0, "invoke", "send", [["send", "t-0", number]])
            recorder.record(2 * number + 1, 0, "ok", "send", [["send", "t-0", [number, number]]])
    code, out, err = told(capsys, "analyze", str(directory), "--json")
    assert code == 2, err
    doubts = json.loads(out)["doubts"]
    assert (doubts[0]["kind"], doubts[0]["subject"]) == ("forgotten", "results.json")
    assert "unseen" not in {check["checker"] for check in json.loads(out)["checks"]}
    assert read_results(directory).validity is Validity.UNKNOWN, "it is whole again"


def test_a_plan_that_is_none_ends_with_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = run_in(tmp_path, json.dumps(SOUND))
    (directory / "plan.json").write_text('{"nodes": "many"}')
    for command in ("analyze", "replay", "report"):
        code, _, err = told(capsys, command, str(directory))
        assert code == 255, command
        assert "plan.json is damaged" in err or "no schedule.json" in err
    with pytest.raises(DamagedError, match="nodes"):
        read_plan(directory)


@pytest.mark.parametrize(
    "text", ["[]", '{"wall": 7, "stage_ns": 1}', '{"wall": "2026-11-17", "stage_ns": 1}']
)
def test_a_beginning_that_is_no_time_is_damaged(text: str, tmp_path: Path) -> None:
    assert read_began(tmp_path) is None
    (tmp_path / "began.json").write_text(text)
    with pytest.raises(DamagedError, match=r"began\.json"):
        read_began(tmp_path)


def test_nothing_outside_a_run_is_opened(tmp_path: Path) -> None:
    run, secret = tmp_path / "run", tmp_path / "secret"
    (run / "n1").mkdir(parents=True)
    secret.write_text("secret")
    (run / "link").symlink_to(secret)
    (run / "n2").symlink_to(tmp_path)
    os.mkfifo(run / "pipe")
    for name in ("link", "n2/secret", "../secret", str(secret), "pipe", "n1", "", "link/x", "a\0b"):
        with pytest.raises(DamagedError):
            open_inside(run, name)
    with pytest.raises(MissingError):
        open_inside(run, "n1/broker.log")
    (run / "n1" / "broker.log").write_text("here")
    with open_inside(run, "n1/broker.log") as file:
        assert file.read() == b"here"


def test_what_is_written_takes_the_place_of_a_link(tmp_path: Path) -> None:
    run, secret = tmp_path / "run", tmp_path / "secret"
    run.mkdir()
    secret.write_text("secret")
    (run / "results.json").symlink_to(secret)
    write_inside(run, "results.json", "half of a character: \ud800")
    assert (run / "results.json").read_text() == "half of a character: \\ud800"
    assert secret.read_text() == "secret"
    assert [path.name for path in run.iterdir()] == ["results.json"]
