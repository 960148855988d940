"""The dependencies of transactions on lists: each list's order gives them, in linear space.

ww from each value's writer to the next one's; wr from the writer of a read's last element, for the
rest are before that one; rw from a read to the writer of what comes next. What was appended for
certain and never read comes after all that was.
"""

from __future__ import annotations

import numpy as np

from checkers.arrays import Ints32, Ints64
from checkers.columns import OK
from checkers.transactions.graph import RW, WR, WW, Edges, Graph, Scope, transaction_graph
from checkers.transactions.lists import Lists


def list_graph(lists: Lists, scope: Scope) -> Graph:
    return transaction_graph(lists.columns, scope, *dependencies(lists))


def dependencies(lists: Lists) -> list[Edges]:
    """ww, wr and rw. Those of a list follow from what is said of this list alone."""
    chain, key, offset = _chains(lists)
    unread = np.flatnonzero(
        lists.took_effect & (lists.reader < 0) & (lists.columns.outcome[lists.writer] == OK)
    ).astype(np.int32)
    return [
        *_write_edges(lists, chain, key, unread, offset),
        *_read_edges(lists, chain, unread, offset),
    ]


def _chains(lists: Lists) -> tuple[Ints32, Ints32, Ints64]:
    """The values of all lists, in order, that took effect; their keys; where each list begins."""
    keys = lists.start.size - 1
    inside = np.zeros(lists.order.size + 1, np.int64)
    np.add.at(inside, lists.start[:-1], 1)
    np.add.at(inside, lists.start[:-1] + lists.length, -1)
    used = np.cumsum(inside[:-1]) > 0
    chain = lists.order[used]
    chain = chain[lists.took_effect[chain]]
    key = lists.key[chain]
    offset = np.zeros(keys + 1, np.int64)
    np.cumsum(np.bincount(key, minlength=keys), out=offset[1:])
    return chain, key, offset


def _write_edges(
    lists: Lists, chain: Ints32, key: Ints32, unread: Ints32, offset: Ints64
) -> list[Edges]:
    writer = lists.writer
    same = key[1:] == key[:-1]
    before, after = chain[:-1][same], chain[1:][same]
    ends = offset[lists.key[unread] + 1] - 1
    has_end = ends >= offset[lists.key[unread]]
    last, loose = chain[ends[has_end]], unread[has_end]
    return [
        (writer[before], writer[after], WW, before, after),
        (writer[last], writer[loose], WW, last, loose),
    ]


def _read_edges(lists: Lists, chain: Ints32, unread: Ints32, offset: Ints64) -> list[Edges]:
    runs, writer, read = lists.runs, lists.writer, lists.seen
    # The initial state, -1, finds the last place of both, which says no.
    place = np.full(lists.key.size + 1, -1, np.int64)
    place[chain] = np.arange(chain.size)
    took_effect = np.append(lists.took_effect, False)
    agrees = lists.agrees > 0
    some = np.flatnonzero(took_effect[read] & agrees)
    wr = (writer[read[some]], runs.op[some], WR, read[some], read[some])
    following = np.where(read >= 0, place[read] + 1, offset[runs.key])
    known = agrees & ((read < 0) | (place[read] >= 0))
    inner = np.flatnonzero(known & (following < offset[runs.key + 1]))
    after = chain[following[inner]]
    rw = (runs.op[inner], writer[after], RW, read[inner], after)
    at_end = np.flatnonzero(known & (following >= offset[runs.key + 1]))
    return [wr, rw, _last_reads(lists, at_end, read, unread)]


def _last_reads(lists: Lists, at_end: Ints64, read: Ints32, unread: Ints32) -> Edges:
    """From reads of all that is known of a list to the writers of what nobody read."""
    keys = lists.start.size - 1
    unread = unread[np.argsort(lists.key[unread], kind="stable")]
    count = np.bincount(lists.key[unread], minlength=keys)
    start = np.cumsum(count) - count
    key = lists.runs.key[at_end]
    times = count[key]
    runs = np.repeat(at_end, times)
    first = np.repeat(start[key] - np.cumsum(times) + times, times)
    after = unread[first + np.arange(runs.size)]
    return lists.runs.op[runs], lists.writer[after], RW, read[runs], after
