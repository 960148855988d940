"""A run that wrote nothing while its faults were in force says nothing about that time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from harness.doubts import DoubtKind, sentence_of
from harness.history.op import NEMESIS, Op
from harness.run.idle_faults import idle_under_faults

NODES = ("n1", "n2", "n3", "n4", "n5")
ALONE = [[a, b] for other in NODES[1:] for a, b in (("n1", other), (other, "n1"))]


def row(time_s: float, f: str, **value: Any) -> Op:
    return Op(0, int(time_s * 1e9), NEMESIS, "info", f, value)


def stroke(kind: str, name: str, from_s: float, to_s: float, **fault: Any) -> list[Op]:
    return [
        row(from_s - 0.5, f"start-{kind}", kind=kind, name=name, **fault),
        row(from_s, f"start-{kind}", fault=name, proof="it is so"),
        row(to_s, f"stop-{kind}", fault=name, healed=True),
    ]


def doubts(rows: list[Op], written_s: Iterable[float], nodes: tuple[str, ...] = NODES) -> Any:
    written_ns = (np.array(list(written_s)) * 1e9).astype(np.int64)
    return idle_under_faults(rows, written_ns, nodes, int(60e9))


def every_tenth(*spans: tuple[int, int]) -> list[float]:
    """Ten writes a second."""
    return [each / 10 for begin, end in spans for each in range(begin * 10, end * 10)]


CUT = stroke("partition", "partition 1", 10, 20, links=ALONE)
AROUND = every_tenth((0, 10), (21, 31))


def test_a_fault_under_which_nothing_was_acknowledged_is_a_doubt() -> None:
    (doubt,) = doubts(CUT, AROUND)
    assert doubt.kind is DoubtKind.NO_WRITES_IN_FAULTS
    assert sentence_of(doubt) == (
        "no write was acknowledged while a fault was in force (partition): in 10.0 s, in which 96 "
        "would be usual"
    )


def test_one_write_is_none() -> None:
    assert doubts(CUT, [*AROUND, 19.9]) == []


@pytest.mark.parametrize(
    ("rows", "nodes"),
    [
        (stroke("kill", "kill 1/n1", 10, 20, node="n1"), ("n1",)),
        ([row for n in NODES[:3] for row in stroke("kill", f"kill 1/{n}", 10, 20, node=n)], NODES),
        (stroke("client", "client:kill 1/c1", 10, 20, client="c1"), NODES),
        (stroke("clock", "clock 1/n1", 10, 10.1, node="n1"), NODES),
        ([], NODES),
    ],
    ids=["the only node", "a majority", "a client", "a moment", "no fault"],
)  # fmt: skip
def test_no_doubt_where_nothing_could_be_expected(rows: list[Op], nodes: tuple[str, ...]) -> None:
    assert doubts(rows, AROUND, nodes) == []


def test_writes_that_never_came_are_another_doubt() -> None:
    assert doubts(CUT, []) == []
