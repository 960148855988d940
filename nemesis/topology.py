"""Topologies: a partition is a directed graph of reachable hosts; missing edges are cut links.

An edge from n1 to n2 means that packets of n1 arrive at n2. All functions are pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice, permutations
from random import Random
from typing import TypeAlias

import networkx as nx

from harness.cluster.capabilities import Link, Node
from harness.schedule.faults import CLIENTS
from nemesis.targets import majority_of

Graph: TypeAlias = nx.DiGraph

_GROUPS_TRIED = 10_000
"""Bound on the groups of nodes to look at; a cut of many disjoint pairs has exponentially many."""


def complete(hosts: Iterable[Node]) -> Graph:
    """Every host reaches every other host."""
    return nx.complete_graph(list(hosts), create_using=nx.DiGraph)


def components(groups: Iterable[Collection[Node]]) -> Graph:
    """Hosts reach each other within a group and not between groups."""
    return nx.compose_all([complete(group) for group in groups])


def halves(nodes: Sequence[Node]) -> Graph:
    """The first half and the rest; the rest is larger for an odd count."""
    cut = len(nodes) // 2
    return components([nodes[:cut], nodes[cut:]])


def random_halves(nodes: Sequence[Node], dice: Random) -> Graph:
    return halves(dice.sample(nodes, len(nodes)))


def half_around(nodes: Sequence[Node], some: Collection[Node], dice: Random) -> Graph:
    """`some`, filled up to (the smaller) half with drawn nodes, and the rest."""
    others = dice.sample([node for node in nodes if node not in some], len(nodes) - len(some))
    company = max(0, len(nodes) // 2 - len(some))
    return components([[*some, *others[:company]], others[company:]])


def isolated(nodes: Sequence[Node], alone: Collection[Node]) -> Graph:
    """Each node of `alone` on its own, all others together."""
    others = [node for node in nodes if node not in alone]
    return components([*([node] for node in alone), others] if others else [[n] for n in alone])


def majorities_ring(nodes: Sequence[Node], dice: Random) -> Graph:
    """Each node receives from a majority, itself included, and no two from the same one."""
    ring = dice.sample(nodes, len(nodes))
    count, majority = len(ring), majority_of(len(ring))
    graph = nx.DiGraph()
    graph.add_nodes_from(nodes)
    for place, node in enumerate(ring):
        heard = (ring[(place - majority // 2 + step) % count] for step in range(majority))
        graph.add_edges_from((other, node) for other in heard if other != node)
    return graph


def bridge(nodes: Sequence[Node], dice: Random) -> Graph:
    """Two halves that cannot reach each other, and one node that reaches both."""
    middle, *rest = dice.sample(nodes, len(nodes))
    cut = len(rest) // 2
    return nx.compose(components([[*rest[:cut], middle]]), components([[*rest[cut:], middle]]))


def one_way(nodes: Sequence[Node], some: Collection[Node], *, are_deaf: bool) -> Graph:
    """Packets between `some` and the others arrive in one direction only."""
    graph = complete(nodes)
    for inside, outside in permutations(nodes, 2):
        if inside in some and outside not in some:
            graph.remove_edge(*((outside, inside) if are_deaf else (inside, outside)))
    return graph


def rack(nodes: Sequence[Node], racks: Mapping[Node, str], lost: str) -> Graph:
    """One rack is cut off from all other racks."""
    inside = [node for node in nodes if racks.get(node) == lost]
    return components([inside, [node for node in nodes if node not in inside]])


def with_clients(graph: Graph, clients: Node, reached: Iterable[Node] | None = None) -> Graph:
    """Add the clients, connected in both directions with `reached`, by default with all nodes."""
    joined = nx.DiGraph(graph)
    joined.add_node(clients)
    for node in graph.nodes if reached is None else reached:
        joined.add_edges_from([(clients, node), (node, clients)])
    return joined


def without(hosts: Iterable[Node], links: Iterable[Link]) -> Graph:
    """The complete graph without these links."""
    graph = complete(hosts)
    graph.remove_edges_from(links)
    return graph


def leaves_a_majority(
    nodes: Sequence[Node], cut: Iterable[Collection[Node]], struck: Collection[Node]
) -> bool:
    """Whether more than half of the nodes are not struck and reach each other in both directions.

    `cut` are pairs of hosts whose link is cut in one direction or both. A bridge leaves such a
    majority, its middle and one half. A ring of majorities leaves none: each node reaches a
    majority, but not one whose nodes all reach each other.
    """
    graph = nx.complete_graph([node for node in nodes if node not in struck])
    graph.remove_edges_from(tuple(pair) for pair in cut if len(pair) == 2)
    groups = islice(nx.find_cliques(graph), _GROUPS_TRIED)
    return any(2 * len(group) > len(nodes) for group in groups)


def cut_links(graph: Graph) -> tuple[Link, ...]:
    """The links that the graph lacks."""
    return tuple(sorted(nx.complement(graph).edges))


def shown(graph: Graph) -> str:
    """Groups as in `n1 n2 | n3 n4`; if there are none, the senders that each host receives from.

    Hosts that lost no link follow after a semicolon, except for the clients.
    """
    lacking = nx.complement(graph)
    if nx.is_empty(lacking):
        return "no link is cut"
    rest = graph.subgraph(node for node in graph.nodes if lacking.degree(node))
    whole = sorted(set(graph.nodes) - set(rest.nodes) - {CLIENTS})
    groups = [sorted(group) for group in nx.strongly_connected_components(rest)]
    if len(groups) > 1 and nx.utils.graphs_equal(nx.DiGraph(rest), components(groups)):
        said = " | ".join(" ".join(group) for group in sorted(groups))
    else:
        heard = {node: sorted(rest.predecessors(node)) for node in sorted(rest.nodes)}
        said = "; ".join(
            f"{node} receives from {' '.join(who) or 'no host'}" for node, who in heard.items()
        )
    return f"{said}; {' '.join(whole)} not cut off" if whole else said
