"""The model `list-append`: transactions that append to lists and read them whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from checkers.columns import has_kind
from checkers.findings import SHOWN, Finding
from checkers.models import Question
from checkers.parts import both
from checkers.stored import StoredHistory, columns_of
from checkers.transactions.cycles import Group
from checkers.transactions.explain import told
from checkers.transactions.graph import Graph, Scope, Suspects, edge_count, suspects
from checkers.transactions.list_edges import list_graph
from checkers.transactions.lists import Lists
from checkers.transactions.updates import lost_updates
from checkers.transactions.verdicts import Examined, ruled_by_models, scope_of
from checkers.verdict import Verdict
from harness.history import kinds
from harness.history.history import History

LIST_APPEND = "list-append"


def list_append(history: History | StoredHistory, question: Question) -> Verdict:
    models = question.consistency_models
    return ruled_by_models(examined_lists(history, models, question.lists), models)


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeLists:
    """What is known of a larger history, a part of which is judged (checkers/cuts/lists.py)."""

    ops: int
    reads: int
    edges: int
    inner: tuple[int, int, int]
    """Reads with faults of their own, in the order of `Lists.inner_faults`."""
    is_touched: bool


def examined_lists(
    history: History | StoredHistory, models: tuple[str, ...], whole: WholeLists | None = None
) -> Examined:
    """`models` say whether the orders of processes and of time count as dependencies."""
    lists = Lists(columns_of(history))
    scope = scope_of(models)
    (graph, doubted), found = both(
        lambda: _graphed(lists, scope), lambda: _apart(lists, whole), size=lists.number.size
    )
    for group in doubted.groups[:SHOWN]:
        for cycle in Group(graph, group).cycles():
            found.append(told(cycle, graph, lists.columns, _value_of(lists), "appended"))
    whole = whole or _as_whole(history, lists, graph)
    stats = {"ops": whole.ops, "reads": whole.reads, "edges": whole.edges}
    return Examined(found=found, stats=stats, edges=whole.edges, is_touched=whole.is_touched)


def _as_whole(history: History | StoredHistory, lists: Lists, graph: Graph) -> WholeLists:
    reads = int(lists.runs.op.size)
    one, other, third = lists.inner_faults[1].tolist()
    return WholeLists(
        ops=len(history),
        reads=reads,
        edges=edge_count(graph),
        inner=(one, other, third),
        is_touched=bool(reads) or has_kind(lists.columns, kinds.APPEND),
    )


def _graphed(lists: Lists, scope: Scope) -> tuple[Graph, Suspects]:
    graph = list_graph(lists, scope)
    return graph, suspects(graph)


def _apart(lists: Lists, whole: WholeLists | None) -> list[Finding]:
    """What can be told without a graph: each follows from what is said of one list alone."""
    return [*_of_reads(lists, whole), *_of_values(lists), *_of_orders(lists), *_lost_updates(lists)]


def _value_of(lists: Lists) -> Callable[[int], tuple[Any, Any]]:
    def value_of(number: int) -> tuple[Any, Any]:
        element = int(lists.appended[number])
        if element < 0:
            element = int(lists.reader[number])
        return lists.columns.key_of(int(lists.key[number])), lists.columns.value_of(element)

    return value_of


def _read(lists: Lists, run: int) -> tuple[int, Any, list[Any]]:
    """The index of the operation, the key and the list that a run saw."""
    columns, runs = lists.columns, lists.runs
    first, size = int(runs.first[run]), int(runs.size[run])
    seen = [columns.value_of(element) for element in range(first, first + size)]
    return columns.index_of(int(runs.op[run])), columns.key_of(int(runs.key[run])), seen


_INNER = (
    ("internal", "which contradicts what it read and appended itself before"),
    ("future-read", "which has in it what it appended only later"),
    ("G1b", "whose last value was not the last that its writer appended"),
)


def _of_reads(lists: Lists, whole: WholeLists | None) -> list[Finding]:
    runs, (found, count) = lists.runs, lists.inner_faults
    counted = count if whole is None else whole.inner
    findings = []
    for kind, (type_, reason) in enumerate(_INNER):
        for run in found[kind, : min(int(count[kind]), SHOWN)].tolist():
            index, key, seen = _read(lists, run)
            ops = {index}
            if type_ == "G1b":
                last = lists.number[runs.first[run] + runs.size[run] - 1]
                ops.add(lists.columns.index_of(int(lists.writer[last])))
            findings.append(
                Finding(
                    type=type_,
                    ops=tuple(sorted(ops)),
                    because=f"op {index} read {seen} from {key}, {reason}",
                    witness={"key": key, "read": seen, "count": int(counted[kind])},
                )
            )
    return findings


def _of_values(lists: Lists) -> list[Finding]:
    """G1a, and dirty-update: a failed value with one that took effect after it in the list."""
    columns, findings = lists.columns, []
    for number in np.flatnonzero(lists.dirty)[:SHOWN].tolist():
        reader = columns.row_of(int(lists.reader[number]))
        key, value = _value_of(lists)(number)
        writer = columns.index_of(int(lists.writer[number]))
        index = columns.index_of(reader)
        findings.append(
            Finding(
                type="G1a",
                ops=tuple(sorted((writer, index))),
                because=f"op {writer} failed to append {value!r} to {key}, and op {index} read it",
                witness={"key": key, "element": value, "writer": writer, "reader": index},
            )
        )
    for key in np.unique(lists.key[lists.dirty]).tolist():
        finding = _dirty_update(lists, key)
        if finding is not None and len(findings) < 2 * SHOWN:
            findings.append(finding)
    return findings


def _dirty_update(lists: Lists, key: int) -> Finding | None:
    both = lists.dirty_update(key)
    if both is None:
        return None
    columns, name = lists.columns, lists.columns.key_of(key)
    one, other = (columns.index_of(int(lists.writer[number])) for number in both)
    values = [_value_of(lists)(number)[1] for number in both]
    return Finding(
        type="dirty-update",
        ops=tuple(sorted((one, other))),
        because=f"op {other} appended {values[1]!r} to {name} after {values[0]!r}, which op {one} "
        "failed to append",
        witness={"key": name, "values": values},
    )


def _of_orders(lists: Lists) -> list[Finding]:
    """duplicate-elements and incompatible-order."""
    findings = []
    _, disagreeing = lists.disagreeing
    for run in disagreeing.tolist():
        index, key, seen = _read(lists, run)
        doubles = sorted({repr(one) for one in seen if seen.count(one) > 1})
        if doubles:
            findings.append(
                Finding(
                    type="duplicate-elements",
                    ops=(index,),
                    because=f"op {index} read {seen} from {key}, where {', '.join(doubles)} is "
                    "more than once",
                    witness={"key": key, "read": seen},
                )
            )
            continue
        other, _, longest = _read(lists, int(lists.longest[lists.runs.key[run]]))
        findings.append(
            Finding(
                type="incompatible-order",
                ops=tuple(sorted({index, other})),
                because=f"op {index} read {seen} from {key}, and op {other} read {longest}: "
                "neither list begins with the other",
                witness={"key": key, "reads": [seen, longest]},
            )
        )
    return findings


def _lost_updates(lists: Lists) -> list[Finding]:
    runs = lists.runs
    return lost_updates(lists.columns, runs.op, runs.first, lists.seen, _value_of(lists))
