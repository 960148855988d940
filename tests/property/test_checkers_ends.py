"""Cycles through reads that assert an end, against the graph that the definition draws."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.log.cycles import cycles
from checkers.log.facts import LogFacts
from tests.property.light_history import LightHistory
from tests.property.log_histories import log_history
from tests.property.log_oracle import Oracle
from tests.property.txn_oracle import Txn, cycle_types

Edge = tuple[int, int, str]


class Ends:
    """Who comes before whom, by an oracle's logs."""

    def __init__(self, oracle: Oracle) -> None:
        self.oracle = oracle
        self.edges: set[Edge] = set()

    def writer(self, key: str, offset: int) -> int | None:
        oracle = self.oracle
        held = min(oracle.log[key][offset], key=oracle._order)
        writer = oracle.surest(key, held)
        return None if writer is None else writer.op.index

    def add(self, source: int | None, target: int | None, kind: str) -> None:
        if source is not None and target is not None and source != target:
            self.edges.add((source, target, kind))

    def logs(self) -> None:
        for key, log in self.oracle.log.items():
            offsets = sorted(log)
            for one, other in pairwise(offsets):
                self.add(self.writer(key, one), self.writer(key, other), "ww")

    def polls(self) -> None:
        """As far as an operation got in a log is the end; with an empty list, as far as its process
        had got before."""
        reached: dict[tuple[int, str], int] = {}
        for one in self.oracle.done:
            if one.type != "ok" or one.f == "assign":
                continue
            ends: dict[str, int] = {}
            shown = [part[1] for part in one.op.value or () if part[0] == "poll"]
            for key, records in (item for part in shown for item in part.items()):
                if not records:
                    ends.setdefault(key, reached.get((one.process, key), 0))
                for offset, _ in records:
                    if offset is not None:
                        ends[key] = max(ends.get(key, 0), offset + 1)
                        reached[one.process, key] = ends[key]
            for key, end in ends.items():
                self.read(one.op.index, key, end)

    def read(self, index: int, key: str, end: int) -> None:
        offsets = sorted(self.oracle.log[key])
        below = [offset for offset in offsets if offset < end]
        beyond = [offset for offset in offsets if offset >= end]
        if below:
            self.add(self.writer(key, below[-1]), index, "wr")
        if beyond:
            self.add(index, self.writer(key, beyond[0]), "rw")


def difference(dice: Random, *, ww_deps: bool) -> tuple[set[str], set[str]]:
    rows = log_history(dice, bend=dice.choice((0.0, 0.05, 0.15)), most=10)
    history = LightHistory(rows)
    findings = cycles(LogFacts(history.columns), ww_deps=ww_deps, exact_polls=True)
    oracle = Oracle(rows, history.values)
    ends = Ends(oracle)
    ends.polls()
    if ww_deps:
        ends.logs()
    txns = [
        Txn(one.op.index, oracle.calls.get(one.op.index, -1), one.type, one.process, [])
        for one in oracle.done
    ]
    edges = ends.edges | {(source, target, "wr") for source, target in oracle.reads_from()}
    edges |= {
        (one.index, other.index, "realtime")
        for one in txns
        for other in txns
        if other.type == "fail" and one.type == "ok" and one.index < other.call
    }
    return {finding.type for finding in findings.found}, cycle_types(txns, edges)


@pytest.mark.parametrize("ww_deps", [False, True])
@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_cycles_are_found_and_named_by_what_they_are(ww_deps: bool, seed: int) -> None:
    found, there = difference(Random(seed), ww_deps=ww_deps)
    assert found == there
