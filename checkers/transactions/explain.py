"""A cycle in words: each step with its reason, and the contradiction at the end."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from checkers.columns import Columns
from checkers.findings import Finding
from checkers.log.words import value_text
from checkers.transactions.cycles import Cycle
from checkers.transactions.graph import PROCESS, RW, WR, WW, Graph

_KINDS = {WW: "ww", WR: "wr", RW: "rw", PROCESS: "process"}

ValueOf = Callable[[int], tuple[Any, Any]]
"""The key and the value of a number."""


def told(cycle: Cycle, graph: Graph, columns: Columns, value_of: ValueOf, verb: str) -> Finding:
    """`verb`: what writers do, append or write."""
    nodes = [cycle.start, *(target for _, target in cycle.steps)]
    names = {node: f"T{number}" for number, node in enumerate(dict.fromkeys(nodes), 1)}
    steps = [
        _step(edge, source, target, graph, columns, value_of)
        for (edge, target), source in zip(cycle.steps, nodes, strict=False)
    ]
    lets = ", ".join(f"{name} = op {columns.index_of(node)}" for node, name in names.items())
    for step, (one, other) in zip(steps, pairwise(names[node] for node in nodes), strict=True):
        step["because"] = f"{one} < {other}, because {_reason(step, one, other, verb)}"
    *most, last = (step["because"] for step in steps)
    sentence = f"let {lets}: {'; '.join(most)}; however {last}: a contradiction"
    return Finding(
        type=cycle.type,
        ops=tuple(columns.index_of(node) for node in names),
        because=sentence,
        witness={"cycle": [columns.index_of(node) for node in nodes], "steps": steps}
        | ({} if cycle.minimal else {"minimal": False}),
    )


def _step(
    edge: int, source: int, target: int, graph: Graph, columns: Columns, value_of: ValueOf
) -> dict[str, Any]:
    if edge < 0:
        return {"type": "realtime"}
    kind = int(graph.kind[edge])
    if kind == PROCESS:
        return {"type": "process", "process": columns.process_of(source)}
    before, after = int(graph.before[edge]), int(graph.after[edge])
    key, value = value_of(after)
    step = {"type": _KINDS[kind], "key": key, "value": value}
    if kind != WR:
        step["value"] = "init" if before < 0 else value_of(before)[1]
        step["value'"] = value
    return step


def _reason(step: dict[str, Any], one: str, other: str, verb: str) -> str:
    match step["type"]:
        case "realtime":
            return f"{one} ended before {other} began"
        case "process":
            return f"process {step['process']} did {one} before {other}"
        case "wr":
            value = value_text(step["value"])
            return f"{one} {verb} {value} to {step['key']}, which {other} read"
        case "ww":
            before, after = value_text(step["value"]), value_text(step["value'"])
            return f"{one} {verb} {before} to {step['key']} before {other} {verb} {after}"
        case _:
            seen = "nothing" if step["value"] == "init" else value_text(step["value"])
            after = value_text(step["value'"])
            return (
                f"{one} read {step['key']} when {seen} was its last, before {other} {verb} {after}"
            )
