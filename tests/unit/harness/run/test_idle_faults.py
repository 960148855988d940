"""A run that wrote nothing while its faults were in force says nothing about that time."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

import numpy as np
import pytest

from harness.doubts import DoubtKind, sentence_of
from harness.history.op import NEMESIS, Op
from harness.run.idle_faults import idle_under_faults
from harness.schedule.faults import CLIENTS, both_ways
from nemesis import topology

NODES = ("n1", "n2", "n3", "n4", "n5")
ALONE = [[a, b] for other in NODES[1:] for a, b in (("n1", other), (other, "n1"))]


def links_of(graph: topology.Graph) -> list[list[str]]:
    return [list(link) for link in topology.cut_links(graph)]


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
        "no write was acknowledged while a fault was in force (partition): in 10.5 s, in which 103 "
        "would be usual"
    )


def partition(name: str, links: list[list[str]], from_s: float = 10, to_s: float = 20) -> list[Op]:
    return stroke("partition", name, from_s, to_s, links=links)


DICE = Random(7)
LEAVE_A_MAJORITY = {
    "one alone": topology.isolated(NODES, ["n3"]),
    "each of two alone": topology.isolated(NODES, ["n3", "n5"]),
    "halves": topology.halves(NODES),
    "deaf": topology.one_way(NODES, ["n1"], are_deaf=True),
    "mute": topology.one_way(NODES, ["n1", "n2"], are_deaf=False),
    "bridge": topology.bridge(NODES, DICE),
}
LEAVE_NONE = {
    "each of three alone": topology.isolated(NODES, ["n1", "n3", "n5"]),
    "majorities-ring": topology.majorities_ring(NODES, DICE),
    "all alone": topology.isolated(NODES, NODES),
    "halves of four": topology.halves(NODES[:4]),
    "two of three groups": topology.components([["n1", "n2"], ["n3", "n4"], ["n5"]]),
}


@pytest.mark.parametrize("name", LEAVE_A_MAJORITY)
def test_a_partition_strikes_only_nodes_outside_the_largest_group(name: str) -> None:
    rows = partition("partition 1", links_of(LEAVE_A_MAJORITY[name]))
    (doubt,) = doubts(rows, AROUND)
    assert doubt.kind is DoubtKind.NO_WRITES_IN_FAULTS
    assert doubts(rows, [*AROUND, 19.9]) == []


@pytest.mark.parametrize("name", LEAVE_NONE)
def test_a_partition_in_which_no_majority_reaches_each_other_is_no_doubt(name: str) -> None:
    graph = LEAVE_NONE[name]
    rows = partition("partition 1", links_of(graph))
    assert doubts(rows, AROUND, tuple(sorted(graph.nodes))) == []


@pytest.mark.parametrize(("count", "is_doubt"), [(1, True), (2, True), (3, False), (5, False)])
def test_a_node_that_clients_cannot_reach_is_struck(count: int, is_doubt: bool) -> None:
    links = both_ways(*((CLIENTS, node) for node in NODES[:count]))
    rows = partition("partition:clients 1", [list(link) for link in links])
    assert bool(doubts(rows, AROUND)) == is_doubt


def test_faults_that_overlap_are_judged_together() -> None:
    one, other = (links_of(topology.isolated(NODES, alone)) for alone in (["n1"], ["n2", "n3"]))
    assert doubts([*partition("partition 1", one), *partition("partition 2", other)], AROUND) == []
    killed = stroke("kill", "kill 1/n4", 10, 20, node="n4")
    halves = partition("partition 1", links_of(topology.halves(NODES)))
    assert doubts([*killed, *halves], AROUND) == []
    (doubt,) = doubts([*killed, *partition("partition 2", one)], AROUND)
    assert doubt.subject == "kill, partition"


def test_the_links_of_one_stroke_are_cut_together() -> None:
    alone = [links_of(topology.isolated(NODES, [node])) for node in NODES[:3]]
    rows = [row for at, links in enumerate(alone) for row in partition(f"partition 1/{at}", links)]
    assert doubts(rows, AROUND) == []


def test_a_cut_that_was_proven_only_at_its_end_is_a_doubt() -> None:
    """A busy machine measured for seconds, so the time between proof and healing says nothing."""
    rows = partition("partition 1", ALONE, 19.99, 20)
    rows[0] = row(12, "start-partition", kind="cut", name="partition 1", links=ALONE)
    (doubt,) = doubts(rows, AROUND)
    assert doubt.detail.startswith("in 8.0 s")


def test_a_cut_of_many_pairs_is_judged_in_bounded_time() -> None:
    """Its groups of nodes that reach each other are exponentially many."""
    nodes = tuple(f"n{number}" for number in range(1, 99))
    pairs = both_ways(*zip(nodes[::2], nodes[1::2], strict=True))
    assert doubts(partition("partition 1", [list(link) for link in pairs]), AROUND, nodes) == []


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
