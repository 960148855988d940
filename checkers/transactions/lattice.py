"""Which anomaly implies which, which consistency model forbids which, and which model is stronger.

After Adya, Bailis, Cerone, Daudjee and Elle. Anomalies and models are graphs; what a set of
anomalies rules out is everything above what they imply.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import networkx as nx

_ITEM = ("G-single-item", "G-nonadjacent-item", "G2-item")
_WHOLE = ("G-single", "G-nonadjacent", "G2")
_SUFFIXES = ("", "-process", "-realtime")

ALIASES = {
    "consistent-view": "PL-2+",
    "conflict-serializable": "PL-3",
    "cursor-stability": "PL-CS",
    "forward-consistent-view": "PL-FCV",
    "monotonic-snapshot-read": "PL-MSR",
    "monotonic-view": "PL-2L",
    "read-committed": "PL-2",
    "read-uncommitted": "PL-1",
    "repeatable-read": "PL-2.99",
    "serializable": "PL-3",
    "snapshot-isolation": "PL-SI",
    "strict-serializable": "PL-SS",
    "strong-serializable": "PL-SS",
    "update-serializable": "PL-3U",
    "strong-session-read-uncommitted": "strong-session-PL-1",
    "strong-session-read-committed": "strong-session-PL-2",
    "strong-read-uncommitted": "strong-PL-1",
    "strong-read-committed": "strong-PL-2",
    "ROLA": "update-atomic",
}
_FRIENDLY = {canonical: name for name, canonical in ALIASES.items() if name != "ROLA"} | {
    "PL-3": "serializable",
    "PL-SS": "strict-serializable",
    "update-atomic": "update-atomic",
}

_IMPLIES: dict[str, tuple[str, ...]] = {
    "G0": ("G1c",),
    "G0-process": ("G1c-process",),
    "G0-realtime": ("G1c-realtime",),
    "G1a": ("G1",),
    "G1b": ("G1",),
    "G1c": ("G1",),
    "G1c-process": ("G1-process",),
    "G1c-realtime": ("G1-realtime",),
    "incompatible-order": ("G1a",),
    "future-read": ("G1c",),
    "dirty-update": ("G1a",),
    "lost-update": ("write-skew", "G2-item"),
    "write-skew": ("G2",),
}

_STRONGER: dict[str, tuple[str, ...]] = {
    "causal-cerone": ("read-atomic",),
    "consistent-view": ("cursor-stability", "monotonic-view"),
    "conflict-serializable": ("view-serializable",),
    "cursor-stability": ("read-committed",),
    "forward-consistent-view": ("consistent-view",),
    "read-committed": ("read-uncommitted",),
    "serializable": ("repeatable-read", "update-serializable", "snapshot-isolation"),
    "update-serializable": ("forward-consistent-view",),
    "monotonic-atomic-view": ("read-committed",),
    "monotonic-view": ("read-committed",),
    "monotonic-snapshot-read": ("read-committed",),
    "parallel-snapshot-isolation": ("causal-cerone", "update-atomic"),
    "prefix": ("causal-cerone",),
    "read-atomic": ("monotonic-atomic-view",),
    "repeatable-read": ("cursor-stability", "monotonic-atomic-view"),
    "update-atomic": ("read-atomic",),
    "session-serializable": ("1SR",),
    "snapshot-isolation": (
        "forward-consistent-view",
        "monotonic-atomic-view",
        "monotonic-snapshot-read",
        "parallel-snapshot-isolation",
        "prefix",
    ),
    "strict-serializable": (
        "serializable",
        "linearizable",
        "snapshot-isolation",
        "strong-snapshot-isolation",
        "strong-session-serializable",
        "session-serializable",
    ),
    "strong-session-PL-1": ("PL-1",),
    "strong-session-PL-2": ("PL-2", "strong-session-PL-1"),
    "strong-PL-1": ("strong-session-PL-1",),
    "strong-PL-2": ("strong-session-PL-2", "strong-PL-1"),
    "strong-session-serializable": ("serializable", "strong-session-snapshot-isolation"),
    "strong-session-snapshot-isolation": ("snapshot-isolation", "strong-session-PL-2"),
    "strong-snapshot-isolation": ("strong-session-snapshot-isolation", "strong-PL-2"),
    "linearizable": ("sequential",),
    "sequential": ("causal",),
    "causal": ("writes-follow-reads", "PRAM"),
    "PRAM": ("monotonic-reads", "monotonic-writes", "read-your-writes"),
}

_FORBIDS: dict[str, tuple[str, ...]] = {
    "causal-cerone": ("internal", "G1a"),
    "cursor-stability": ("G1", "lost-update"),
    "monotonic-view": ("G1",),
    "monotonic-snapshot-read": ("G1",),
    "consistent-view": ("G1", "G-single"),
    "forward-consistent-view": ("G1",),
    "parallel-snapshot-isolation": ("internal", "G1a"),
    "serializable": ("internal", "G1", "G2"),
    "read-committed": ("G1",),
    "read-uncommitted": ("G0", "duplicate-elements", "cyclic-versions"),
    "prefix": ("internal", "G1a"),
    "snapshot-isolation": ("internal", "G1", "G-nonadjacent"),
    "read-atomic": ("internal", "G1a", "future-read"),
    "repeatable-read": ("G1", "G2-item", "lost-update"),
    "update-atomic": ("lost-update",),
    "strict-serializable": ("G1", "G1c-realtime", "G2-realtime"),
    "strong-session-PL-1": ("G0-process",),
    "strong-session-PL-2": ("G1c-process",),
    "strong-PL-1": ("G0-realtime",),
    "strong-PL-2": ("G1c-realtime",),
    "strong-session-snapshot-isolation": (
        "internal",
        "G1-process",
        "G-nonadjacent-process",
        # Either an older version was read, G-single, or a write was overtaken, G1c: nobody knows.
        "cyclic-versions-process",
    ),
    "strong-snapshot-isolation": (
        "internal",
        "G1-realtime",
        "G-nonadjacent-realtime",
        "cyclic-versions-realtime",
    ),
    "strong-session-serializable": ("G1-process", "G2-process"),
    "update-serializable": ("G1",),
}


def canonical(model: str) -> str:
    return ALIASES.get(model, model)


def known_models() -> frozenset[str]:
    return frozenset({*_models().nodes, *ALIASES})


@cache
def _anomalies() -> nx.DiGraph[str]:
    """An edge from each anomaly to those it implies."""
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph()
    for anomaly, implied in _IMPLIES.items():
        graph.add_edges_from((anomaly, other) for other in implied)
    for suffix in _SUFFIXES:
        for chain in (_ITEM, _WHOLE):
            graph.add_edges_from(
                (f"{one}{suffix}", f"{other}{suffix}") for one, other in pairwise(chain)
            )
        for item, whole in zip(_ITEM, _WHOLE, strict=True):
            graph.add_edge(f"{item}{suffix}", f"{whole}{suffix}")
    for base in ("G0", "G1c", "G1", *_ITEM, *_WHOLE):
        # What is wrong without looking at processes or clocks is wrong with them.
        graph.add_edge(base, f"{base}-process")
        graph.add_edge(f"{base}-process", f"{base}-realtime")
    return graph


@cache
def _models() -> nx.DiGraph[str]:
    """An edge from each model to those that it is stronger than."""
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph()
    for model, weaker in _STRONGER.items():
        graph.add_edges_from((canonical(model), canonical(other)) for other in weaker)
    return graph


@cache
def implied_by(anomaly: str) -> frozenset[str]:
    """Itself included."""
    import networkx as nx

    graph = _anomalies()
    return frozenset({anomaly, *(nx.descendants(graph, anomaly) if anomaly in graph else ())})


@cache
def forbidden_by(models: tuple[str, ...]) -> frozenset[str]:
    """Every anomaly that cannot be if all of these models hold."""
    import networkx as nx

    graph, direct = _models(), {canonical(model): set(each) for model, each in _FORBIDS.items()}
    forbidden: set[str] = set()
    for model in map(canonical, models):
        weaker = nx.descendants(graph, model) if model in graph else set()
        for one in {model, *weaker}:
            forbidden |= direct.get(one, set())
    anomalies = _anomalies()
    implying = {
        other
        for anomaly in forbidden
        if anomaly in anomalies
        for other in nx.ancestors(anomalies, anomaly)
    }
    return frozenset(forbidden | implying)


@cache
def ruled_out(anomalies: frozenset[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The weakest models that these anomalies rule out, and all the stronger ones besides."""
    import networkx as nx

    graph = _models()
    implied = {other for anomaly in anomalies for other in implied_by(anomaly)}
    direct = {canonical(model) for model, each in _FORBIDS.items() if implied & set(each)}
    impossible = direct | {
        other for model in direct if model in graph for other in nx.ancestors(graph, model)
    }
    weakest = {
        model
        for model in impossible
        if not (model in graph and nx.descendants(graph, model) & impossible)
    }
    return _friendly(weakest), _friendly(impossible - weakest)


def _friendly(models: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(_FRIENDLY.get(model, model) for model in models))
