"""Topologies: a partition is a graph of who reaches whom; what is cut is what the graph lacks.

Directed: an edge from n1 to n2 says that what n1 sends arrives at n2. All functions are pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import permutations
from random import Random
from typing import TypeAlias

import networkx as nx

from harness.cluster.capabilities import Link, Node
from harness.schedule.faults import CLIENTS
from nemesis.targets import majority_of

Graph: TypeAlias = nx.DiGraph


def complete(hosts: Iterable[Node]) -> Graph:
    """Everybody reaches everybody."""
    return nx.complete_graph(list(hosts), create_using=nx.DiGraph)


def components(groups: Iterable[Collection[Node]]) -> Graph:
    """Within a group everybody, between groups nobody."""
    return nx.compose_all([complete(group) for group in groups])


def halves(nodes: Sequence[Node]) -> Graph:
    """The first half and the rest, which is the larger one of an odd number."""
    cut = len(nodes) // 2
    return components([nodes[:cut], nodes[cut:]])


def random_halves(nodes: Sequence[Node], dice: Random) -> Graph:
    return halves(dice.sample(nodes, len(nodes)))


def half_around(nodes: Sequence[Node], some: Collection[Node], dice: Random) -> Graph:
    """`some` and as many others as make a half, of an odd number the smaller one; and the rest."""
    others = dice.sample([node for node in nodes if node not in some], len(nodes) - len(some))
    company = max(0, len(nodes) // 2 - len(some))
    return components([[*some, *others[:company]], others[company:]])


def isolated(nodes: Sequence[Node], alone: Collection[Node]) -> Graph:
    """Each of `alone` by itself, all others together: a single node, a leader, a controller."""
    others = [node for node in nodes if node not in alone]
    return components([*([node] for node in alone), others] if others else [[n] for n in alone])


def majorities_ring(nodes: Sequence[Node], dice: Random) -> Graph:
    """Each hears a majority, itself included, and no two the same one."""
    ring = dice.sample(nodes, len(nodes))
    count, majority = len(ring), majority_of(len(ring))
    graph = nx.DiGraph()
    graph.add_nodes_from(nodes)
    for place, node in enumerate(ring):
        heard = (ring[(place - majority // 2 + step) % count] for step in range(majority))
        graph.add_edges_from((other, node) for other in heard if other != node)
    return graph


def bridge(nodes: Sequence[Node], dice: Random) -> Graph:
    """Two halves that do not see each other, and one node that sees both."""
    middle, *rest = dice.sample(nodes, len(nodes))
    cut = len(rest) // 2
    return nx.compose(components([[*rest[:cut], middle]]), components([[*rest[cut:], middle]]))


def one_way(nodes: Sequence[Node], some: Collection[Node], *, are_deaf: bool) -> Graph:
    """What is sent between `some` and the others arrives in one direction only."""
    graph = complete(nodes)
    for inside, outside in permutations(nodes, 2):
        if inside in some and outside not in some:
            graph.remove_edge(*((outside, inside) if are_deaf else (inside, outside)))
    return graph


def rack(nodes: Sequence[Node], racks: Mapping[Node, str], lost: str) -> Graph:
    """One rack as a whole is cut off from all others."""
    inside = [node for node in nodes if racks.get(node) == lost]
    return components([inside, [node for node in nodes if node not in inside]])


def with_clients(graph: Graph, clients: Node, reached: Iterable[Node] | None = None) -> Graph:
    """The clients reach these nodes, and are reached by them; by default all."""
    joined = nx.DiGraph(graph)
    joined.add_node(clients)
    for node in graph.nodes if reached is None else reached:
        joined.add_edges_from([(clients, node), (node, clients)])
    return joined


def without(hosts: Iterable[Node], links: Iterable[Link]) -> Graph:
    """What is left when these links are cut."""
    graph = complete(hosts)
    graph.remove_edges_from(links)
    return graph


def cut_links(graph: Graph) -> tuple[Link, ...]:
    """Everything that the graph lacks."""
    return tuple(sorted(nx.complement(graph).edges))


def shown(graph: Graph) -> str:
    """The groups, where there are some: `n1 n2 | n3 n4`; otherwise who hears whom.

    Whoever is cut off from nobody stands behind them; of clients that goes without saying.
    """
    lacking = nx.complement(graph)
    if nx.is_empty(lacking):
        return "nothing is cut"
    rest = graph.subgraph(node for node in graph.nodes if lacking.degree(node))
    whole = sorted(set(graph.nodes) - set(rest.nodes) - {CLIENTS})
    groups = [sorted(group) for group in nx.strongly_connected_components(rest)]
    if len(groups) > 1 and nx.utils.graphs_equal(nx.DiGraph(rest), components(groups)):
        said = " | ".join(" ".join(group) for group in sorted(groups))
    else:
        heard = {node: sorted(rest.predecessors(node)) for node in sorted(rest.nodes)}
        said = "; ".join(f"{node} hears {' '.join(who) or 'nobody'}" for node, who in heard.items())
    return f"{said}, {' '.join(whole)} cut off from nobody" if whole else said
