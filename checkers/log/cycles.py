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

from checkers.arrays import Ints32
from checkers.findings import SHOWN, Finding, Findings
from checkers.kernels.log import edges_of_reads, own_reads, reads_before_sends
from checkers.log.ends import edges_of_ends
from checkers.log.facts import LogFacts
from checkers.log.words import of_number
from checkers.transactions.cycles import Cycle, Group
from checkers.transactions.explain import told
from checkers.transactions.graph import (
    WR,
    WW,
    Edges,
    Scope,
    graph_of,
    suspects,
    transaction_graph,
)

_NOTHING = "no operation polled what another sent"


def cycles(facts: LogFacts, *, ww_deps: bool = False, exact_polls: bool = False) -> Findings:
    columns = facts.columns
    span = (columns.outcome, facts.begin, facts.end, facts.role, facts.number)
    both, _, _ = own_reads(*span, 0)
    call = columns.call.astype(np.int32)
    reads, early_count, early = reads_before_sends(*span, facts.values.writer, call, SHOWN)
    known = bool((columns.call[columns.outcome > 0] >= 0).all())
    if not both and known and not ww_deps and not exact_polls:
        found = tuple(_early(facts, int(element)) for element in early)
        return Findings(found=found, count=early_count, looked_at=reads, nothing=_NOTHING)
    source, target, number = edges_of_reads(*span, facts.values.writer)
    wr: Edges = (source, target, WR, number, number)
    more = [_log_order(facts)] if ww_deps else []
    if ww_deps or exact_polls:
        more += edges_of_ends(facts, exact_polls=exact_polls)
    graph = transaction_graph(columns, Scope(), wr, *more)
    # Whoever was shown a value before its send began was, even if that send failed.
    graph = replace(graph, call=columns.call)
    findings: list[Finding] = []
    for group in suspects(graph).groups[:SHOWN]:
        for cycle in Group(graph, group).cycles():
            findings.append(told(cycle, graph, columns, _value_of(facts), "sent"))
    return Findings(found=tuple(findings), count=len(findings), looked_at=reads, nothing=_NOTHING)


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
    graph = graph_of(
        columns.call,
        columns.call,
        (np.array([writer], np.int32), np.array([reader], np.int32), WR, one, one),
    )
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
