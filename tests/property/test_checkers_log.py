"""Checkers of logs against their definitions, on small histories of every kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.findings import Finding, Findings
from checkers.log.aborted_read import aborted_reads
from checkers.log.contents import duplicates, inconsistent_offsets
from checkers.log.cycles import cycles
from checkers.log.facts import LogFacts
from checkers.log.foreign import phantom_reads, precommitted_reads
from checkers.log.jumps import (
    int_nonmonotonic_polls,
    int_nonmonotonic_sends,
    int_poll_skips,
    int_send_skips,
    nonmonotonic_polls,
    nonmonotonic_sends,
    poll_skips,
    producer_orders,
)
from checkers.log.linear import nonlinearizable_logs
from checkers.log.lost_write import lost_writes
from checkers.log.unread import unseen
from tests.property.light_history import LightHistory
from tests.property.log_histories import log_history
from tests.property.log_oracle import Oracle
from tests.property.orderly_histories import orderly_history
from tests.property.txn_oracle import Txn, cycle_types

Examine = Callable[[LogFacts], Findings]
Facts = list[tuple[Any, ...]]


def key_value(finding: Finding) -> tuple[Any, ...]:
    return finding.witness["key"], finding.witness["value"]


def outer(finding: Finding) -> tuple[Any, ...]:
    return *finding.ops, finding.witness["key"], *finding.witness["values"]


def inner(finding: Finding) -> tuple[Any, ...]:
    return finding.ops[0], finding.witness["key"], *finding.witness["values"]


def acked(finding: Finding) -> tuple[Any, ...]:
    ops = finding.ops if len(finding.ops) == 2 else finding.ops * 2
    return *ops, finding.witness["key"], *finding.witness["offsets"]


CASES: dict[str, tuple[Examine, Callable[[Oracle], Any], Callable[[Finding], tuple[Any, ...]]]] = {
    "lost-write": (lost_writes, Oracle.lost_write, key_value),
    "duplicate": (duplicates, Oracle.duplicate, key_value),
    "inconsistent-offsets": (
        inconsistent_offsets,
        Oracle.inconsistent_offsets,
        lambda finding: (finding.witness["key"], finding.witness["offset"]),
    ),
    "G1a": (aborted_reads, Oracle.aborted_read, key_value),
    "poll-skip": (poll_skips, lambda oracle: oracle.poll_jumps()["skip"], outer),
    "nonmonotonic-poll": (nonmonotonic_polls, lambda oracle: oracle.poll_jumps()["back"], outer),
    "int-poll-skip": (int_poll_skips, lambda oracle: oracle.poll_jumps()["inner-skip"], inner),
    "int-nonmonotonic-poll": (
        int_nonmonotonic_polls,
        lambda oracle: oracle.poll_jumps()["inner-back"],
        inner,
    ),
    "nonmonotonic-send": (nonmonotonic_sends, lambda oracle: oracle.send_jumps()["back"], outer),
    "int-send-skip": (int_send_skips, lambda oracle: oracle.send_jumps()["inner-skip"], inner),
    "int-nonmonotonic-send": (
        int_nonmonotonic_sends,
        lambda oracle: oracle.send_jumps()["inner-back"],
        inner,
    ),
    "producer-order": (producer_orders, Oracle.producer_order, acked),
    "unseen": (
        unseen,
        lambda oracle: Counter(key for key, _ in oracle.unseen()).items(),
        lambda finding: (finding.witness["key"], finding.witness["unseen"]),
    ),
    "phantom-read": (phantom_reads, Oracle.phantom_read, key_value),
    "precommitted-read": (
        precommitted_reads,
        Oracle.precommitted_read,
        lambda finding: finding.ops,
    ),
    "nonlinearizable-log": (
        nonlinearizable_logs,
        lambda oracle: [(len(oracle.nonlinearizable()),)] if oracle.nonlinearizable() else [],
        lambda finding: (finding.witness["key"],),
    ),
}


def difference(
    name: str, dice: Random, bend: float | None = None, most: int = 14
) -> tuple[Facts, Facts]:
    """What the checker finds and what the definition says; the same, one hopes."""
    rows = log_history(dice, bend=bend, most=most)
    history = LightHistory(rows)
    return compared(name, LogFacts(history.columns), Oracle(rows, history.values))


def compared(name: str, facts: LogFacts, oracle: Oracle) -> tuple[Facts, Facts]:
    examine, define, told = CASES[name]
    findings = examine(facts)
    defined = sorted(define(oracle), key=repr)
    found = sorted(map(told, findings.found), key=repr)
    if name == "nonlinearizable-log":
        # One polled element is told once for every time that it was polled; they are only counted.
        return [(findings.count,)] if findings.count else [], defined
    if findings.count > len(found) and name != "unseen":
        assert findings.count == len(defined)
        return found, _matched(defined, found)
    return found, defined


def _matched(defined: Facts, found: Facts) -> Facts:
    """Those that are found, as often as they are: some are told twice, and not all are shown."""
    left = list(found)
    matched = []
    for one in defined:
        if one in left:
            left.remove(one)
            matched.append(one)
    return matched


def cycle_difference(
    dice: Random, bend: float | None = None, most: int = 14
) -> tuple[bool, bool, bool]:
    """Whether a cycle is found, whether there is one, and whether those found are true."""
    rows = log_history(dice, bend=bend, most=most)
    return cycles_compared(LogFacts(LightHistory(rows).columns), Oracle(rows))


def cycles_compared(facts: LogFacts, oracle: Oracle) -> tuple[bool, bool, bool]:
    findings = cycles(facts)
    reads = oracle.reads_from()
    txns = [
        Txn(one.op.index, oracle.calls.get(one.op.index, -1), one.type, one.process, [])
        for one in oracle.done
    ]
    edges = {(source, target, "wr") for source, target in reads}
    failed = [txn for txn in txns if txn.type == "fail"]
    edges |= {
        (one.index, other.index, "realtime")
        for one in txns
        for other in failed
        if one.type == "ok" and one.index < other.call
    }
    defined = cycle_types(txns, edges)
    by_index = {txn.index: txn for txn in txns}
    true = all(
        _is_step(by_index[one], by_index[other], step["type"], reads)
        for finding in findings.found
        for (one, other), step in zip(
            pairwise(finding.witness["cycle"]), finding.witness["steps"], strict=True
        )
    )
    return bool(findings.count), bool(defined), true


def _is_step(one: Txn, other: Txn, kind: str, reads: set[tuple[int, int]]) -> bool:
    if kind == "wr":
        return (one.index, other.index) in reads
    if kind == "process":
        return one.process == other.process and one.index < other.index
    return kind == "realtime" and one.type == "ok" and one.index < other.call


def orderly_difference(dice: Random) -> tuple[list[str], bool]:
    """Which checkers differ from their definitions on a history with few things out of order; and
    whether anything is wrong with it."""
    rows = orderly_history(dice)
    history = LightHistory(rows)
    facts, oracle = LogFacts(history.columns), Oracle(rows, history.values)
    both = {name: compared(name, facts, oracle) for name in CASES}
    found, there, true = cycles_compared(facts, oracle)
    wrong = [name for name, (found_, defined) in both.items() if found_ != defined]
    wrong += [] if found == there and true else ["G1c"]
    return wrong, there or any(defined for _, defined in both.values())


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_logs_in_order_but_for_a_few_places_are_judged_by_definition(seed: int) -> None:
    assert orderly_difference(Random(seed))[0] == []


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_cycle_is_found_where_there_is_one(seed: int) -> None:
    found, there, true = cycle_difference(Random(seed), 0.25, 16)
    assert found == there
    assert true


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_checker_finds_what_its_definition_says(name: str, seed: int) -> None:
    found, defined = difference(name, Random(seed))
    assert found == defined
