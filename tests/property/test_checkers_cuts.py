"""Histories judged in parts have the findings of the whole: same types, operations, witnesses."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from bench.checker_histories import log_history as log_history_of_bench
from checkers.checker import Evidence
from checkers.columns import Columns
from checkers.contract import Contract
from checkers.log.facts import LogFacts
from checkers.registry import all_checkers
from harness.history.history import History
from harness.history.op import Op
from tests.property.cut_histories import HistoryInParts
from tests.property.log_histories import log_history
from tests.property.orderly_histories import orderly_history
from tests.unit.checkers.guilty import GUILTY, INNOCENT
from tests.unit.checkers.stories import told

SEEDS = range(8)
MANY = range(1_000, 1_600)


def findings(evidence: Evidence, contract: Contract) -> dict[str, Any]:
    return {
        name: (found.found, found.count, found.looked_at > 0)
        for name, checker in all_checkers().items()
        if checker.model == "kafka"
        for found in (checker.look(evidence, contract),)
    }


def difference(history: History, dice: Random, width: int = 0) -> list[str]:
    columns = Columns(history)
    contract = Contract(timestamp_type=dice.choice(("CreateTime", "LogAppendTime")))
    whole = findings(Evidence(history, facts=LogFacts(columns)), contract)
    is_append = contract.timestamp_type == "LogAppendTime"
    width = width or dice.choice((1, 2, 3, 5, 8))
    small, gone = HistoryInParts(history, dice, width, append_time=is_append).smaller()
    facts = LogFacts(Columns(small), gone=gone)
    cut = findings(Evidence(small, facts=facts), contract)
    return [f"{name}: {whole[name]} {cut[name]}" for name in whole if whole[name] != cut[name]]


def alike(seed: int, ops: list[Op]) -> bool:
    """And whether anything was found."""
    history = History.of(ops)
    assert difference(history, Random(seed)) == []
    return bool(LogFacts(Columns(history)).known)


@pytest.mark.parametrize("seed", SEEDS)
def test_logs_judged_in_parts_have_the_findings_of_the_whole(seed: int) -> None:
    assert alike(seed, orderly_history(Random(seed)))


def test_bent_logs_judged_in_parts_have_the_findings_of_the_whole() -> None:
    assert sum(alike(seed, log_history(Random(seed), most=30)) for seed in range(20)) > 12


@pytest.mark.slow
@pytest.mark.sweep
@pytest.mark.parametrize("seed", MANY)
def test_many_logs_judged_in_parts_have_the_findings_of_the_whole(seed: int) -> None:
    alike(seed, orderly_history(Random(seed)))
    alike(seed, log_history(Random(seed), most=30))


def test_parts_leave_out_what_is_removable() -> None:
    """Otherwise every test above would pass for doing nothing."""
    whole = small = 0
    for seed in SEEDS:
        history = History.of(orderly_history(Random(seed)))
        smaller, _ = HistoryInParts(history, Random(seed), 5, append_time=False).smaller()
        whole, small = whole + len(history.elements), small + len(smaller.elements)
    assert small < 0.6 * whole


@pytest.mark.parametrize("name", sorted(GUILTY))
def test_each_guilty_history_is_found_guilty_in_parts(name: str) -> None:
    for story in (GUILTY[name], INNOCENT.get(name, ())):
        assert difference(told(*story), Random(1)) == []


def test_all_guilty_histories_at_once_are_judged_in_parts() -> None:
    """Behind a long history in which nothing is wrong."""
    history = History(log_history_of_bench(20_000, planted=True))
    assert difference(history, Random(7), width=512) == []
