"""A graph that can be put in order is acquitted without looking for its components."""

from __future__ import annotations

from random import Random

import networkx as nx  # type: ignore[import-untyped, unused-ignore]
import numpy as np
import pytest

from checkers.kernels.graph import in_order
from checkers.transactions.graph import NEVER, WW, Graph, graph_of, suspects


def drawn(dice: Random) -> Graph:
    """Up to twelve operations, some of which never return; edges lead anywhere, most of them on."""
    nodes = dice.randrange(1, 12)
    call = np.array([max(-1, row - dice.randrange(6)) for row in range(nodes)], np.int64)
    ret = np.array([row if dice.random() < 0.8 else NEVER for row in range(nodes)], np.int64)
    pairs = []
    for _ in range(dice.randrange(2 * nodes)):
        pair = sorted((dice.randrange(nodes), dice.randrange(-1, nodes)))
        pairs.append(pair if dice.random() < 0.75 else pair[::-1])
    source, target = (np.array([pair[end] for pair in pairs], np.int32) for end in (0, 1))
    return graph_of(call, ret, (source, target, WW, source, target))


def is_orderly(graph: Graph) -> bool:
    whole = nx.DiGraph(zip(graph.source.tolist(), graph.target.tolist(), strict=True))
    whole.add_nodes_from(range(graph.nodes))
    return nx.is_directed_acyclic_graph(whole) and all(
        graph.call[before] <= graph.ret[node]
        for node in whole
        for before in (node, *nx.ancestors(whole, node))
    )


@pytest.mark.parametrize("seed", range(300))
def test_what_can_be_put_in_order_is_what_has_no_cycle(seed: int) -> None:
    graph = drawn(Random(seed))
    start, targets, waiting = graph.by_source
    assert targets.size == graph.source.size
    orderly = is_orderly(graph)
    ready = np.empty(graph.nodes, np.int32)
    assert in_order(start, targets, waiting.copy(), graph.call.copy(), graph.ret, ready) == orderly
    found = suspects(graph)
    assert (not found.groups and not found.realtime) == orderly


def test_both_kinds_of_graphs_are_drawn() -> None:
    orderly = sum(is_orderly(drawn(Random(seed))) for seed in range(300))
    assert 60 < orderly < 240
