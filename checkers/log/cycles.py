"""G0 and G1c, with their process and realtime variants: operations that read each other's writes;
and G-single, G-nonadjacent and G2, where reads assert an end.

Whoever polls a value comes after whoever sent it. With ww_deps the log's own order of two records
orders their senders, too, and whoever was told the end of a log comes before what was sent beyond.
If nobody both sends and polls, and every operation's invocation is known, a cycle can only be a
poll that ended before a send it shows began: then no graph is needed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from checkers import clauses
from checkers.arrays import Bools, Ints32, Ints64
from checkers.checker import Checker
from checkers.clauses import NO_WW, UNCOMMITTED, allowed
from checkers.findings import SHOWN, Finding, Findings
from checkers.kernels import fitting
from checkers.kernels.log import edges_of_reads, reads_before_sends
from checkers.kernels.values import EARLY
from checkers.log.ends import edges_of_ends
from checkers.log.facts import LogFacts
from checkers.log.mixed import mixed_graph
from checkers.log.words import of_number
from checkers.transactions.cycles import Cycle, Group
from checkers.transactions.explain import told
from checkers.transactions.graph import (
    WR,
    WW,
    Edges,
    Graph,
    Scope,
    graph_of,
    suspects,
    transaction_graph,
)
from harness.history import kinds

_NOTHING = "no operation polled what another sent"
_LONG = 1 << 20
"""Of a history with more elements only the part is looked at in which a cycle can be."""


def cycles(facts: LogFacts, *, ww_deps: bool = False, exact_polls: bool = False) -> Findings:
    columns = facts.columns
    marks = facts.marks
    plain = not (ww_deps or exact_polls) and _all_called(facts)
    simple = plain and not facts.both
    late = facts.in_time[1].any() or bool(marks.having(EARLY).size)
    if simple and not late:
        return Findings(looked_at=facts.polled, nothing=_NOTHING)
    early_count, early = _early_reads(facts)
    if simple:
        found = tuple(_early(facts, int(element)) for element in early)
        return Findings(found=found, count=early_count, looked_at=facts.polled, nothing=_NOTHING)
    findings: list[Finding] = []
    rows: Ints64 | None = None
    if plain and facts.number.size > _LONG:
        mixed = facts.mixed
        graph, rows = mixed_graph(facts, mixed)
        apart = [int(one) for one in early if not _touches(facts, int(one), mixed)]
        findings += [_early(facts, element) for element in apart]
    else:
        graph = _whole_graph(facts, ww_deps=ww_deps, exact_polls=exact_polls)
    for group in suspects(graph).groups[:SHOWN]:
        for cycle in Group(graph, group).cycles():
            cycle = cycle if rows is None else _of_rows(cycle, rows)
            findings.append(told(cycle, graph, columns, _value_of(facts), "sent"))
    return Findings(
        found=tuple(findings), count=len(findings), looked_at=facts.polled, nothing=_NOTHING
    )


def _all_called(facts: LogFacts) -> bool:
    """Whether all that send or poll were invoked. What a group tells a member was not; it sends and
    polls nothing, either."""
    uncalled = np.flatnonzero(facts.called < 0)
    spoke = (facts.columns.outcome[uncalled] > 0) & (facts.survey.roles[uncalled] > 0)
    return not spoke.any()


def _early_reads(facts: LogFacts) -> tuple[int, Ints64]:
    """How many elements were polled before they were sent, and the first of them. All are of keys
    where a record may have been told too early, or of values that are known to be."""
    about = facts.in_time[1].copy()
    about[facts.values.key[facts.marks.having(EARLY)]] = True
    found = np.empty(SHOWN, np.int64)
    rows = facts.rows_about(np.flatnonzero(about))
    spans = (facts.columns.outcome, facts.begin, facts.end)
    given = (*spans, facts.cells, facts.values.writer, facts.called)
    count = fitting(reads_before_sends, facts.work_in(rows))(rows, *given, found)
    return count, found[:count]


def _of_rows(cycle: Cycle, rows: Ints64) -> Cycle:
    """Of a graph whose nodes are some of all rows."""
    steps = tuple((edge, int(rows[node])) for edge, node in cycle.steps)
    return replace(cycle, steps=steps, start=int(rows[cycle.start]))


def _whole_graph(facts: LogFacts, *, ww_deps: bool, exact_polls: bool) -> Graph:
    columns = facts.columns
    spans = (facts.begin, facts.end)
    room = np.empty((3, int(facts.survey.kinds[kinds.RECORD])), np.int32)
    count = edges_of_reads(facts.rows.pollers, *spans, facts.cells, facts.values.writer, *room)
    source, target, number = room[:, :count]
    wr: Edges = (source, target, WR, number, number)
    more = [_log_order(facts)] if ww_deps else []
    if ww_deps or exact_polls:
        more += edges_of_ends(facts, exact_polls=exact_polls)
    graph = transaction_graph(columns, Scope(), wr, *more)
    # Whoever was shown a value before its send began was, even if that send failed.
    return replace(graph, call=columns.call)


def _touches(facts: LogFacts, element: int, mixed: Bools) -> bool:
    """Whether an operation that both sends and polls showed this, or sent it."""
    writer = int(facts.values.writer[facts.number[element]])
    return bool(mixed[facts.columns.row_of(element)] or mixed[writer])


def _value_of(facts: LogFacts) -> Any:
    def value_of(number: int) -> tuple[Any, Any]:
        key = facts.columns.key_of(int(facts.values.key[number]))
        return key, of_number(facts, number)

    return value_of


def _early(facts: LogFacts, element: int) -> Finding:
    """A cycle of two: the sender, the reader, and time."""
    columns = facts.columns
    number = int(facts.number[element])
    writer, reader = int(facts.values.writer[number]), columns.row_of(element)
    one = np.array([number], np.int32)
    nobody = np.empty(0, np.int64)
    ends = np.array([writer], np.int32), np.array([reader], np.int32)
    graph = graph_of(nobody, nobody, (*ends, WR, one, one))
    cycle = Cycle("G1c-realtime", ((0, reader), (-1, writer)), writer, True)
    return told(cycle, graph, columns, _value_of(facts), "sent")


def _log_order(facts: LogFacts) -> Edges:
    """From each record's sender to the next one's."""
    slots, writer = facts.slots, facts.values.writer
    used = np.flatnonzero(slots.held >= 0)
    key = np.searchsorted(slots.start, used, side="right")
    held: Ints32 = slots.held[used]
    same = key[1:] == key[:-1]
    before, after = held[:-1][same], held[1:][same]
    return writer[before], writer[after], WW, before, after


_SUFFIXES = ("", "-process", "-realtime")
_NO_ISOLATION = allowed("Kafka does not isolate the writes of transactions.")
_NO_SNAPSHOT = allowed(
    "Kafka's transactions promise no snapshot: one may miss what another has written."
)
CHECKERS = (
    Checker(
        name="G1c",
        about="Operations that read each other's writes.",
        look=lambda evidence, contract: cycles(
            evidence.facts, ww_deps=contract.ww_deps, exact_polls=contract.exact_polls
        ),
        rows=(
            UNCOMMITTED,
            NO_WW,
            clauses.WW,
        ),
        other_rows={
            **{f"G0{suffix}": (_NO_ISOLATION,) for suffix in _SUFFIXES},
            **{f"G1c{suffix}": (UNCOMMITTED, NO_WW, clauses.WW) for suffix in _SUFFIXES if suffix},
            **{
                f"{name}{suffix}": (_NO_SNAPSHOT,)
                for name in ("G-single-item", "G-nonadjacent-item", "G2-item")
                for suffix in _SUFFIXES
            },
        },
        model="kafka",
    ),
)
