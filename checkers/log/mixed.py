"""The part of the graph of a long history in which a cycle can be.

Without the order of logs a cycle goes from senders to those who polled them, and on by processes
and by time. An operation that only polls hands on nothing but time; one that only sends takes
nothing but time. So a way of two such steps or more leads through operations that do both, and of
one step alone there is only a poll that ended before the send it shows began. Where each
operation's invocation is known, it is enough to look for those, and to have the graph of the few
that do both and of their neighbours.
"""

from __future__ import annotations

import numpy as np

from checkers.arrays import Bools, Ints64
from checkers.columns import FAIL, OK
from checkers.kernels.reads import reads_touching
from checkers.log.facts import LogFacts
from checkers.transactions.graph import NEVER, WR, Graph, graph_of, process_edges

_AT_ONCE = 1 << 16


def mixed_graph(facts: LogFacts, mixed: Bools) -> tuple[Graph, Ints64]:
    """Of the operations that both send and poll, and of whoever they read or are read by; and the
    rows of its nodes, in their order."""
    columns = facts.columns
    about = facts.rows_about(_keys(facts, mixed))
    given = (facts.rows, facts.cells, facts.values.writer)
    source, target, number = reads_touching(about, *given, mixed)
    near = mixed.copy()
    near[source] = near[target] = True
    rows = np.flatnonzero(near)
    outcome = columns.outcome[rows]
    sender, poller = (np.searchsorted(rows, ends).astype(np.int32) for ends in (source, target))
    graph = graph_of(
        facts.called[rows].astype(np.int64),
        np.where(outcome == OK, rows, NEVER),
        (sender, poller, WR, number, number),
        process_edges(columns.ops.process[rows], outcome != FAIL),
    )
    return graph, rows


def _keys(facts: LogFacts, mixed: Bools) -> Ints64:
    """Of all that these operations send; what they poll, they are asked for themselves."""
    rows, key = np.flatnonzero(mixed), facts.columns.elements.key
    is_there = np.zeros(facts.key_count + 1, np.bool_)
    for low in range(0, rows.size, _AT_ONCE):
        some = rows[low : low + _AT_ONCE]
        size = facts.end[some] - facts.begin[some]
        before = np.cumsum(size) - size
        elements = np.arange(int(size.sum())) + np.repeat(facts.begin[some] - before, size)
        # What has no key has the last place.
        is_there[key[elements]] = True
    return np.flatnonzero(is_there[:-1])
