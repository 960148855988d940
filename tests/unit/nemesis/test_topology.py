"""Each topology is the graph it is said to be, and what is cut is what it lacks."""

from __future__ import annotations

from itertools import combinations, permutations
from random import Random

import networkx as nx
import pytest

from nemesis import topology
from nemesis.targets import majority_of

FIVE = ("n1", "n2", "n3", "n4", "n5")
SEEDS = range(20)


def groups(graph: topology.Graph) -> list[list[str]]:
    return sorted(sorted(group) for group in nx.strongly_connected_components(graph))


def test_halves_see_only_their_own() -> None:
    graph = topology.halves(FIVE)
    assert groups(graph) == [["n1", "n2"], ["n3", "n4", "n5"]]
    assert set(topology.cut_links(graph)) == {
        link for link in permutations(FIVE, 2) if (link[0] in "n1n2") != (link[1] in "n1n2")
    }
    assert topology.shown(graph) == "n1 n2 | n3 n4 n5"


def test_random_halves_differ_in_their_members_and_not_in_their_size() -> None:
    drawn = {tuple(map(tuple, groups(topology.random_halves(FIVE, Random(s))))) for s in SEEDS}
    assert len(drawn) > 3
    assert {tuple(sorted(map(len, each))) for each in drawn} == {(2, 3)}


def test_who_is_isolated_is_alone_and_the_others_are_together() -> None:
    assert groups(topology.isolated(FIVE, ["n3"])) == [["n1", "n2", "n4", "n5"], ["n3"]]
    assert groups(topology.isolated(FIVE, FIVE)) == [[node] for node in FIVE]
    assert len(topology.cut_links(topology.isolated(FIVE, FIVE))) == 20


@pytest.mark.parametrize("count", [3, 4, 5, 6, 7])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_in_a_ring_each_hears_a_majority_and_no_two_the_same(count: int, seed: int) -> None:
    nodes = [f"n{number}" for number in range(1, count + 1)]
    graph = topology.majorities_ring(nodes, Random(seed))
    heard = [frozenset({node, *graph.predecessors(node)}) for node in nodes]
    assert {len(each) for each in heard} == {majority_of(count)}
    assert len(set(heard)) == count
    assert topology.cut_links(graph)


def test_a_bridge_sees_both_halves_and_they_do_not_see_each_other() -> None:
    for seed in SEEDS:
        graph = topology.bridge(FIVE, Random(seed))
        (middle,) = [node for node in FIVE if graph.in_degree(node) == graph.out_degree(node) == 4]
        graph.remove_node(middle)
        assert sorted(map(len, groups(graph))) == [2, 2]
        assert all(graph.has_edge(a, b) for g in groups(graph) for a, b in permutations(g, 2))


def test_one_way_is_one_way() -> None:
    deaf = topology.one_way(FIVE, ["n1", "n2"], are_deaf=True)
    dumb = topology.one_way(FIVE, ["n1", "n2"], are_deaf=False)
    inwards = {(a, b) for a in ("n3", "n4", "n5") for b in ("n1", "n2")}
    assert set(topology.cut_links(deaf)) == inwards
    assert set(topology.cut_links(dumb)) == {(b, a) for a, b in inwards}
    assert "n1 receives from n2;" in topology.shown(deaf)
    assert "n5 receives from n1 n2 n3 n4" in topology.shown(deaf)


def test_a_rack_is_cut_off_as_a_whole() -> None:
    racks = dict(zip(FIVE, "aabbb", strict=True))
    assert groups(topology.rack(FIVE, racks, "a")) == [["n1", "n2"], ["n3", "n4", "n5"]]


def test_clients_reach_every_node_unless_they_are_cut_off_from_some() -> None:
    graph = topology.with_clients(topology.halves(FIVE), "clients")
    assert set(topology.cut_links(graph)) == set(topology.cut_links(topology.halves(FIVE)))
    cut = topology.with_clients(topology.complete(FIVE), "clients", ["n1", "n2", "n3"])
    assert topology.cut_links(cut) == (
        ("clients", "n4"), ("clients", "n5"), ("n4", "clients"), ("n5", "clients"),
    )  # fmt: skip


def test_what_is_cut_and_what_is_left_are_the_whole() -> None:
    for graph in (topology.halves(FIVE), topology.bridge(FIVE, Random(1)), topology.complete(FIVE)):
        links = topology.cut_links(graph)
        again = topology.without(FIVE, links)
        assert nx.utils.graphs_equal(graph, again)
        assert len(links) + graph.number_of_edges() == 2 * len(list(combinations(FIVE, 2)))


def test_a_graph_is_told_in_a_line() -> None:
    assert topology.shown(topology.complete(FIVE)) == "no link is cut"
    halved = topology.with_clients(topology.halves(FIVE), "clients")
    assert topology.shown(halved) == "n1 n2 | n3 n4 n5"
    bridged = topology.shown(topology.bridge(FIVE, Random(1)))
    assert bridged.count(" | ") == 1
    assert bridged.endswith(" not cut off")
    some = topology.with_clients(topology.complete(FIVE), "clients", ["n1", "n2", "n3", "n4"])
    assert topology.shown(some) == "clients | n5; n1 n2 n3 n4 not cut off"
    ring = topology.shown(topology.majorities_ring(FIVE[:3], Random(1)))
    assert ring.count("receives from n") == 3
