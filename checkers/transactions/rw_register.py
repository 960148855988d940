"""The model `rw-register`: transactions that write unique values to registers and read them.

A read of a value comes after its writer. Of the order of versions only the first is known: null,
the initial state, is before every value; so a transaction that read null comes before every writer
of that key. What the promised order of processes or of time says of versions is tried, too, but for
contradictions only: a cycle that needs it would be called graver than it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.columns import FAIL, INFO, OK, Columns, has_kind
from checkers.findings import SHOWN, Finding
from checkers.kernels.registers import outer_reads, register_writers
from checkers.models import Question
from checkers.numbering import numbered
from checkers.stored import StoredHistory, columns_of
from checkers.transactions.cycles import Group
from checkers.transactions.explain import told
from checkers.transactions.graph import (
    RW,
    WR,
    Graph,
    Scope,
    edge_count,
    suspects,
    transaction_graph,
)
from checkers.transactions.updates import lost_updates
from checkers.transactions.verdicts import (
    PROVEN_BY,
    Examined,
    ordered_keys,
    ruled_by_models,
    scope_of,
)
from checkers.transactions.versions import cyclic_versions, touches_of
from checkers.verdict import Verdict
from harness.history import kinds
from harness.history.history import History


class Registers:
    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        elements = columns.elements
        wanted: Bools = elements.told & (
            (elements.kind == kinds.WRITE) | (elements.kind == kinds.READ)
        )
        numbering = numbered(elements, wanted)
        self.number, self.key = numbering.number, numbering.owner
        begin, end = columns.spans
        self.writer = np.full(self.key.size, -1, np.int32)
        self.written = np.full(self.key.size, -1, np.int64)
        self.final: Ints8 = np.zeros(self.key.size, np.int8)
        span = (columns.outcome, begin, end, elements.kind, elements.key, self.number)
        register_writers(*span, self.writer, self.written, self.final)
        count = int(np.count_nonzero(elements.kind == kinds.READ))
        read, op = np.empty(count, np.int64), np.empty(count, np.int32)
        wrong = np.empty(SHOWN, np.int64)
        reads, faults = outer_reads(*span, elements.told, read, op, wrong)
        self.read: Ints64 = read[:reads]
        self.reader: Ints32 = op[:reads]
        self.contradictions: Ints64 = wrong[: min(faults, SHOWN)]
        self.version: Ints32 = self.number[self.read]
        self.seen = np.full(self.key.size, -1, np.int64)
        some = self.version >= 0
        self.seen[self.version[some][::-1]] = self.read[some][::-1]

    def value_of(self, number: int) -> tuple[Any, Any]:
        element = int(self.written[number])
        if element < 0:
            element = int(self.seen[number])
        return self.columns.key_of(int(self.key[number])), self.columns.value_of(element)


def rw_register(history: History | StoredHistory, question: Question) -> Verdict:
    registers = Registers(columns_of(history))
    columns = registers.columns
    graph = _graph(registers, scope_of(question.consistency_models))
    circles, orders = _circles(registers, question.consistency_models)
    found = [
        *_of_reads(registers),
        *lost_updates(
            columns, registers.reader, registers.read, registers.version, registers.value_of
        ),
        *circles,
    ]
    for group in suspects(graph).groups[:SHOWN]:
        for cycle in Group(graph, group).cycles():
            found.append(told(cycle, graph, columns, registers.value_of, "wrote"))
    edges = edge_count(graph)
    stats = {"ops": len(history), "reads": int(registers.read.size), "edges": edges}
    proven = {finding.type for finding in found if finding not in circles}
    proven |= {PROVEN_BY[order] for order in orders}
    is_touched = bool(registers.read.size) or has_kind(columns, kinds.WRITE)
    examined = Examined(
        found=found,
        stats=stats,
        edges=edges,
        is_touched=is_touched,
        proven=frozenset(proven),
    )
    return ruled_by_models(examined, question.consistency_models)


def _circles(registers: Registers, models: tuple[str, ...]) -> tuple[list[Finding], set[str]]:
    """By the orders that were promised for each register."""
    columns = registers.columns
    key = columns.elements.key[registers.read]
    outcome = np.where(registers.writer >= 0, columns.outcome[registers.writer], FAIL)
    writes = np.flatnonzero((registers.final > 0) & (outcome != FAIL))
    touches = touches_of(
        (registers.reader, key, registers.version),
        (registers.writer[writes], registers.key[writes], writes.astype(np.int32)),
    )
    orders = ordered_keys(models)
    return cyclic_versions(columns, touches, registers.key.size, registers.value_of, orders)


def _graph(registers: Registers, scope: Scope) -> Graph:
    columns, writer, version = registers.columns, registers.writer, registers.version
    outcome = columns.outcome[writer]
    took_effect = np.append(
        (writer >= 0) & ((outcome == OK) | ((outcome == INFO) & (registers.seen >= 0))), False
    )
    # What another transaction wrote over at once was never its state.
    some = np.flatnonzero(took_effect[version] & (np.append(registers.final, 0)[version] > 0))
    wr = (writer[version[some]], registers.reader[some], WR, version[some], version[some])
    states = np.flatnonzero(took_effect[:-1] & (registers.final > 0))
    return transaction_graph(columns, scope, wr, _initial_edges(registers, states))


def _initial_edges(
    registers: Registers, numbers: Ints64
) -> tuple[Ints32, Ints32, int, Ints32, Ints32]:
    """From each that read null to each writer of the key."""
    keys = len(registers.columns.history.keys)
    numbers = numbers[np.argsort(registers.key[numbers], kind="stable")]
    count = np.bincount(registers.key[numbers], minlength=keys)
    start = np.cumsum(count) - count
    empty = np.flatnonzero(~registers.columns.elements.told[registers.read])
    key = registers.columns.elements.key[registers.read[empty]]
    times = count[key]
    readers = np.repeat(empty, times)
    first = np.repeat(start[key] - np.cumsum(times) + times, times)
    after = numbers[first + np.arange(readers.size)].astype(np.int32)
    before = np.full(after.size, -1, np.int32)
    return registers.reader[readers], registers.writer[after], RW, before, after


def _of_reads(registers: Registers) -> list[Finding]:
    columns, version, writer = registers.columns, registers.version, registers.writer
    findings = []
    for element in registers.contradictions.tolist():
        index = columns.index_of(columns.row_of(element))
        key = columns.key_of(int(columns.elements.key[element]))
        findings.append(
            Finding(
                type="internal",
                ops=(index,),
                because=f"op {index} read {_seen(registers, element)!r} from {key}, which "
                "contradicts what it read or wrote itself before",
                witness={"key": key, "read": _seen(registers, element)},
            )
        )
    known = np.append(writer >= 0, False)[version]
    outcome = np.where(known, columns.outcome[writer[version]] if writer.size else 0, 0)
    own = known & (np.append(writer, -1)[version] == registers.reader)
    torn = known & ~own & (np.append(registers.final, 1)[version] == 0)
    for type_, mask, reason in (
        ("G1a", known & (outcome == FAIL), "which failed to write it"),
        ("G1b", torn & (outcome != FAIL), "which then wrote another value"),
        ("future-read", own, "which wrote it only later"),
    ):
        for read in np.flatnonzero(mask)[:SHOWN].tolist():
            findings.append(_foreign(registers, type_, read, reason))
    return findings


def _foreign(registers: Registers, type_: str, read: int, reason: str) -> Finding:
    columns = registers.columns
    number = int(registers.version[read])
    reader = columns.index_of(int(registers.reader[read]))
    writer = columns.index_of(int(registers.writer[number]))
    key, value = registers.value_of(number)
    return Finding(
        type=type_,
        ops=tuple(sorted({reader, writer})),
        because=f"op {reader} read {value!r} from {key}, of op {writer}, {reason}",
        witness={"key": key, "value": value, "writer": writer, "reader": reader},
    )


def _seen(registers: Registers, element: int) -> Any:
    columns = registers.columns
    return columns.value_of(element) if columns.elements.told[element] else None
