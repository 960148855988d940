"""Elle's definitions, slowly: the graph of transactions with every edge, and all its cycles."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, permutations
from typing import Any

import networkx as nx

from checkers.transactions.lattice import implied_by
from harness.history.op import Op
from tests.property.log_oracle import completed

Edge = tuple[int, int, str]


class Txn:
    def __init__(self, index: int, call: int, type_: str, process: int, ops: Any) -> None:
        self.index, self.call, self.type, self.process, self.ops = index, call, type_, process, ops


def transactions(rows: Sequence[Op]) -> list[Txn]:
    call: dict[int, int] = {}
    open_: dict[int, int] = {}
    for row in rows:
        if row.type == "invoke":
            open_[row.process] = call[row.index] = row.index
        else:
            call[row.index] = open_[row.process]
    return [
        Txn(done.op.index, call[done.op.index], done.type, done.op.process, done.op.value)
        for done in _done(rows)
    ]


def _done(rows: Sequence[Op]) -> Any:
    stripped = [Op(r.index, r.time_ns, r.process, r.type, "assign", []) for r in rows]
    by_index = {row.index: row for row in rows}
    for done in completed(stripped):
        done.op = by_index[done.op.index]
        yield done


def list_edges(txns: Sequence[Txn]) -> set[Edge]:
    writers: dict[tuple[str, int], Txn] = {}
    for type_ in ("fail", "info", "ok"):
        for txn in txns:
            if txn.type == type_:
                writers |= {(k, v): txn for name, k, v in txn.ops if name == "append"}
    reads = [
        (txn, key, value or [])
        for txn in txns
        if txn.type == "ok"
        for name, key, value in txn.ops
        if name == "r"
    ]
    seen = {(key, one) for _, key, value in reads for one in value}
    edges: set[Edge] = set()
    for key in {key for key, _ in seen} | {key for key, _ in writers} | {k for _, k, _ in reads}:
        longest: list[int] = max(
            (value for _, other, value in reads if other == key), key=len, default=[]
        )
        order = list(dict.fromkeys(longest))
        good = [one for one in order if (key, one) in writers and writers[key, one].type != "fail"]
        loose = [
            one
            for (other, one), txn in writers.items()
            if other == key and txn.type == "ok" and (key, one) not in seen
        ]
        for one, other in pairwise(good):
            edges.add((writers[key, one].index, writers[key, other].index, "ww"))
        edges |= {
            (writers[key, good[-1]].index, writers[key, one].index, "ww") for one in loose if good
        }
        for txn, read_key, value in reads:
            if read_key != key or value != order[: len(value)]:
                continue
            if value and value[-1] not in good:
                continue
            if value:
                edges.add((writers[key, value[-1]].index, txn.index, "wr"))
            after = good[good.index(value[-1]) + 1 :] if value else good
            following = after[:1] or loose
            edges |= {(txn.index, writers[key, one].index, "rw") for one in following}
    return {edge for edge in edges if edge[0] != edge[1]}


def register_edges(txns: Sequence[Txn]) -> set[Edge]:
    writers: dict[tuple[str, int], tuple[Txn, bool]] = {}
    for type_ in ("fail", "info", "ok"):
        for txn in txns:
            for at, (name, key, value) in enumerate(txn.ops):
                if txn.type == type_ and name == "w":
                    later = any(n == "w" and k == key for n, k, _ in txn.ops[at + 1 :])
                    writers[key, value] = (txn, not later)
    outer = [
        (txn, key, value)
        for txn in txns
        if txn.type == "ok"
        for at, (name, key, value) in enumerate(txn.ops)
        if name == "r" and all(other != key for _, other, _ in txn.ops[:at])
    ]
    seen = {(key, value) for _, key, value in outer}
    edges: set[Edge] = set()
    for pair, (txn, final) in writers.items():
        if not final or txn.type == "fail" or (txn.type == "info" and pair not in seen):
            continue
        for reader, key, value in outer:
            if (key, value) == pair:
                edges.add((txn.index, reader.index, "wr"))
            elif key == pair[0] and value is None:
                edges.add((reader.index, txn.index, "rw"))
    return {edge for edge in edges if edge[0] != edge[1]}


def cyclic_keys(txns: Sequence[Txn]) -> set[str]:
    """Registers whose versions go round in a circle, by what transactions that are one after the
    other met and left."""
    done = [(txn, *_met_and_left(txn)) for txn in txns if txn.type != "fail"]
    keys = {key for _, met, _ in done for key in met}
    cyclic = set()
    for key in keys:
        graph = nx.DiGraph()
        for one, _, left in done:
            for other, met, _ in done:
                later = one.process == other.process and one.index < other.index
                later |= one.type == "ok" and one.index < other.call
                before, after = left.get(key), met.get(key)
                if later and None not in (before, after) and before != after:
                    graph.add_edge(before, after)
        if not nx.is_directed_acyclic_graph(graph):
            cyclic.add(key)
    return cyclic


def _met_and_left(txn: Txn) -> tuple[dict[str, Any], dict[str, Any]]:
    wrote = {key: value for name, key, value in txn.ops if name == "w"}
    read: dict[str, Any] = {}
    for at, (name, key, value) in enumerate(txn.ops):
        if name == "r" and txn.type == "ok" and all(other != key for _, other, _ in txn.ops[:at]):
            read[key] = value
    return {**wrote, **read}, {**read, **wrote}


def cycle_types(txns: Sequence[Txn], data: set[Edge]) -> set[str]:
    """Of all simple cycles; in each strongly connected group, without what others imply."""
    edges = set(data)
    node = [txn for txn in txns if txn.type in ("ok", "info")]
    for process in {txn.process for txn in node}:
        mine = sorted(txn.index for txn in node if txn.process == process)
        edges |= {(one, other, "process") for one, other in pairwise(mine)}
    edges |= {
        (one.index, other.index, "realtime")
        for one in node
        for other in node
        if one.type == "ok" and one.index < other.call
    }
    graph = nx.MultiDiGraph()
    graph.add_edges_from((one, other, kind) for one, other, kind in edges)
    types: set[str] = set()
    for group in nx.strongly_connected_components(graph):
        found: set[str] = set()
        for cycle in nx.simple_cycles(nx.DiGraph(graph.subgraph(group))):
            found |= _types_of(graph, cycle)
        types |= {
            one for one in found if not any(one != two and one in implied_by(two) for two in found)
        }
    return types


def _types_of(graph: Any, cycle: list[int]) -> set[str]:
    walks: set[tuple[str, ...]] = {()}
    for one, other in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
        walks = {(*walk, kind) for walk in walks for kind in graph[one][other]}
    # Time is an interval order: a cycle that uses it twice can be cut short to one that uses it
    # once, with some of its other edges, which is as grave or graver.
    return {_type(walk) for walk in walks if walk.count("realtime") < 2}


def _type(walk: tuple[str, ...]) -> str:
    rw = walk.count("rw")
    if rw == 0:
        base = "G1c" if "wr" in walk else "G0"
    elif rw == 1:
        base = "G-single-item"
    else:
        around = zip(walk, [*walk[1:], walk[0]], strict=True)
        adjacent = any(one == other == "rw" for one, other in around)
        base = "G2-item" if adjacent else "G-nonadjacent-item"
    suffix = "-realtime" if "realtime" in walk else "-process" if "process" in walk else ""
    return base + suffix


def is_strictly_serializable(txns: Sequence[Txn], *, lists: bool) -> bool:
    """By trying every order of everything that may have happened."""
    sure = [txn for txn in txns if txn.type == "ok"]
    maybe = [txn for txn in txns if txn.type == "info"]
    for chosen in range(1 << len(maybe)):
        extra = [txn for at, txn in enumerate(maybe) if chosen >> at & 1]
        for order in permutations([*sure, *extra]):
            if _in_time(order) and _explains(order, lists=lists):
                return True
    return False


def _in_time(order: Sequence[Txn]) -> bool:
    return not any(
        later.type == "ok" and later.index < earlier.call
        for at, earlier in enumerate(order)
        for later in order[at + 1 :]
    )


def _explains(order: Sequence[Txn], *, lists: bool) -> bool:
    state: dict[str, list[int]] = {}
    for txn in order:
        for name, key, value in txn.ops:
            now = state.setdefault(key, [])
            if name != "r":
                now.append(value)
            elif txn.type == "ok":
                seen = (value or []) if lists else value
                if seen != (now if lists else (now[-1] if now else None)):
                    return False
    return True
