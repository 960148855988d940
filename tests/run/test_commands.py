"""The commands around a run: what they print, and that their exit codes are verdicts only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.run.outcome import worst_exit
from nemesis import NEMESES
from tests.run.commands import harness
from workloads import WORKLOADS


def test_a_suite_runs_every_pair_and_says_how_to_have_each_again(tmp_path: Path) -> None:
    words = "suite --on sim --workloads queue,latest --nemeses none --time-limit 5 --rate 80"
    said = harness(*words.split(), "--seed", "5", cwd=tmp_path)
    assert said.exit_code == 0, said
    assert said.out.count("valid:") == 2
    assert said.out.count("run it again with: harness test") == 2
    listed = harness("ls", "--json", cwd=tmp_path)
    assert [row["verdict"] for row in json.loads(listed.out)] == ["valid", "valid"]
    assert {row["name"] for row in json.loads(listed.out)} == {"queue none", "latest none"}


@pytest.mark.parametrize(
    ("codes", "worst"),
    [([0, 0], 0), ([0, 2, 0], 2), ([255, 2], 255), ([0, 1, 2, 255], 1), ([0], 0)],
)
def test_a_suite_ends_with_its_worst_and_an_anomaly_is_the_worst(
    codes: list[int], worst: int
) -> None:
    assert worst_exit(codes) == worst


def test_whatever_there_is_is_listed(tmp_path: Path) -> None:
    for command, names in (("workloads", WORKLOADS), ("nemeses", NEMESES)):
        said = harness(command, cwd=tmp_path)
        assert said.exit_code == 0, said
        assert [line.split()[0] for line in said.out.splitlines()] == list(names)
        assert all(len(line.split()) > 3 for line in said.out.splitlines())
    assert "lost-write" in harness("checkers", cwd=tmp_path).out


def test_an_empty_store_says_what_to_do(tmp_path: Path) -> None:
    assert "make one with: harness test" in harness("ls", cwd=tmp_path).out
    said = harness("analyze", "latest", cwd=tmp_path)
    assert said.exit_code == 254
    assert "latest is no run" in said.error


def test_the_doctor_names_what_is_there(tmp_path: Path) -> None:
    said = harness("doctor", cwd=tmp_path)
    assert said.exit_code in (0, 255), said
    for what in ("python", "root", "nft", "sshd", "netem"):
        assert f" {what}: " in said.out


def test_a_wrong_word_is_no_verdict(tmp_path: Path) -> None:
    assert harness("test", "--nemesis", "gremlin", cwd=tmp_path).exit_code == 254
    assert harness("test", "--acks", "most", cwd=tmp_path).exit_code == 254
    assert not (tmp_path / "store").exists()
