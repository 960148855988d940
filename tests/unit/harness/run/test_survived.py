"""What was survived is told from the rows of the nemesis, the writes, and who led when."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from checkers.verdict import Validity
from harness.history.op import NEMESIS, Op
from harness.run.survived import survived
from harness.store.results import Figures, RunResults, SurvivedFigures
from reports import sentences

NODES = ("n1", "n2", "n3", "n4", "n5")
ALONE = [[a, b] for other in NODES[1:] for a, b in (("n1", other), (other, "n1"))]
NONE_FOR_LONG = [["n1", "n2"], ["n2", "n1"]]


def row(time_s: float, f: str, **value: Any) -> Op:
    return Op(0, int(time_s * 1e9), NEMESIS, "info", f, value)


def stroke(kind: str, name: str, from_s: float, to_s: float, **fault: Any) -> list[Op]:
    return [
        row(from_s - 0.5, f"start-{kind}", kind="cut", name=name, **fault),
        row(from_s, f"start-{kind}", fault=name, proof="it is so"),
        row(to_s - 0.5, f"stop-{kind}", fault=name),
        row(to_s, f"stop-{kind}", fault=name, healed=True),
    ]


def led(directory: Path, *told: tuple[float, str, str | None]) -> None:
    lines = [
        {"time_ns": int(time_s * 1e9), "node": "n2", "key": key, "leader": leader,
         "epoch": epoch, "replicas": list(NODES[:3]), "isr": list(NODES[:3])}
        for epoch, (time_s, key, leader) in enumerate(told)
    ]  # fmt: skip
    (directory / "cluster.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))


def figures(directory: Path, rows: list[Op], written_s: list[float]) -> Any:
    written_ns = np.array(written_s) * 1e9
    return survived(directory, rows, written_ns.astype(np.int64), NODES, int(60e9))


def test_partitions_elections_and_writes_meanwhile(tmp_path: Path) -> None:
    led(
        tmp_path,
        (0.0, "t-0", "n1"),
        (0.0, "t-1", "n2"),
        (12.0, "t-0", None),
        (13.0, "t-0", "n2"),
        # When all is healed the run itself moves leaders: that is no election by a fault.
        (40.0, "t-1", "n3"),
    )
    rows = [
        *stroke("partition", "partition 1", 10, 20, links=ALONE),
        *stroke("partition", "partition 2", 25, 35, links=NONE_FOR_LONG),
    ]
    found = figures(tmp_path, rows, [9.0, 10.0, 15.0, 22.0, 30.0, 36.0])
    assert found == {
        "faults": {"partition": 2},
        "leaders_cut_off": 1,
        "elections": 1,
        "writes": 3,
    }
    assert sentences.survived(found) == (
        "survived: 2 partitions, 1 of them cutting a leader off; 1 election; "
        "3 writes acknowledged meanwhile"
    )


def test_strokes_on_several_nodes_count_once_and_writes_in_an_overlap_too(tmp_path: Path) -> None:
    rows = [
        *stroke("kill", "kill 1/n1", 10, 20, node="n1"),
        *stroke("kill", "kill 1/n2", 11, 21, node="n2"),
        *stroke("power", "power 2/n3", 12, 22, node="n3"),
    ]
    found = figures(tmp_path, rows, [15.0, 21.5])
    # Nobody asked who led, so nothing is said about elections.
    assert found == {"faults": {"kill": 1, "power": 1}, "writes": 2}
    said = "survived: 1 kill; 1 power loss; 2 writes acknowledged meanwhile"
    assert sentences.survived(found) == said


def test_a_fault_that_missed_was_not_survived(tmp_path: Path) -> None:
    rows = [
        row(1, "start-kill", kind="kill", name="kill 1/n1", node="n1"),
        row(2, "start-kill", fault="kill 1/n1", missed="it still runs"),
        row(3, "stop-kill", fault="kill 1/n1", healed=True),
        row(4, "start-kill", moment="kill 2", skipped="already down: n1"),
    ]
    assert figures(tmp_path, rows, [2.5]) is None


@pytest.mark.parametrize(
    ("faults", "cut_off", "said"),
    [
        ({"partition": 1}, 1, "1 partition, cutting a leader off"),
        ({"partition": 3}, 3, "3 partitions, each cutting a leader off"),
        ({"partition": 2}, 0, "2 partitions"),
        ({"power": 2}, 0, "2 power losses"),
        ({"retention": 1, "pause": 2}, 0, "1 log deletion; 2 pauses"),
    ],
)
def test_the_sentence_counts(faults: dict[str, int], cut_off: int, said: str) -> None:
    told = SurvivedFigures(faults=faults, leaders_cut_off=cut_off, elections=0, writes=1795)
    assert sentences.survived(told) == (
        f"survived: {said}; 0 elections; 1,795 writes acknowledged meanwhile"
    )


def test_only_a_valid_run_has_survived() -> None:
    results = RunResults(
        run="x",
        command="harness test",
        validity=Validity.VALID,
        figures=Figures(ok=1, survived=SurvivedFigures(faults={"kill": 1}, writes=7)),
    )
    sentence = "  survived: 1 kill; 7 writes acknowledged meanwhile"
    assert sentence in sentences.summary(results, "store/x")
    for validity in (Validity.INVALID, Validity.UNKNOWN):
        other = replace(results, validity=validity)
        assert sentence not in sentences.summary(other, "store/x")
