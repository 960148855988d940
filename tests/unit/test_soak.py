"""The soak's own bookkeeping: which runs it draws, and what its table and exit code say."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from nemesis import NEMESES
from tests.soak import Cell, Ended, cells, is_bad, main, table
from workloads import WORKLOADS

CELL = Cell(place="netns", workload="queue", nemesis="all", time_limit_s=8, seed=7)


def ended(verdict: str, *left: str) -> Ended:
    return Ended(CELL, verdict, 12.0, Path("/nowhere"), ["reason"], list(left))


def test_a_matrix_covers_every_workload_with_every_nemesis_and_a_fifth_of_it_on_hosts() -> None:
    drawn = [next(stream) for stream in cells("matrix", 100, Random(1))]
    assert Counter(each.place for each in drawn) == {"sim": 80, "netns": 20}
    in_sim = {(each.workload, each.nemesis) for each in drawn if each.place == "sim"}
    assert len(in_sim) == 80, "no pair comes twice before all have come"
    assert {workload for workload, _ in in_sim} == set(WORKLOADS)
    assert {nemesis for _, nemesis in in_sim} == set(NEMESES)
    assert drawn == [next(stream) for stream in cells("matrix", 100, Random(1))]


def test_a_refused_cell_is_followed_by_others() -> None:
    (stream,) = cells("matrix", 1, Random(1))
    assert len({(each.workload, each.nemesis) for each in islice(stream, 20)}) == 20


def test_every_run_of_the_mix_has_all_nemeses_and_a_seed_of_its_own() -> None:
    drawn = [next(stream) for stream in cells("all", 50, Random(1))]
    assert {(each.place, each.nemesis) for each in drawn} == {("netns", "all")}
    assert len({each.seed for each in drawn}) == 50


def test_the_table_counts_verdicts_and_names_every_run_that_is_not_valid() -> None:
    text = table([ended("valid"), ended("valid"), ended("hung"), ended("unknown", "cgroup x")])
    heading, row, total, _, *told = text.splitlines()
    assert heading.split() == "valid invalid unknown refused crashed hung left traces".split()
    assert row.split() == "netns all 2 - 1 - - 1 1".split()
    assert total.split() == "total 2 - 1 - - 1 1".split()
    assert [line.split()[0] for line in told] == ["hung", "unknown"]
    assert "--seed 7" in told[0]


def test_hangs_crashes_anomalies_and_traces_fail_a_soak() -> None:
    assert not is_bad([ended("valid"), ended("refused")], 0)
    assert not is_bad([ended("unknown")], 1)
    assert is_bad([ended("unknown")], 0)
    for verdict in ("hung", "crashed", "invalid"):
        assert is_bad([ended("valid"), ended(verdict)], 9)
    assert is_bad([ended("valid", "a mount")], 9)


def test_its_help_can_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    assert "--mix" in capsys.readouterr().out
