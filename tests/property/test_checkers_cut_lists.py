"""Histories of lists judged in parts have the verdict of the whole: findings, witnesses, counts."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from checkers.models import Question, judge
from checkers.verdict import Verdict
from harness.history.history import History
from harness.history.op import Op
from tests.property.cut_lists import CutLists
from tests.property.list_histories import list_history
from tests.property.txn_histories import txn_history

SEEDS = range(60)
MANY = range(1_000, 3_000, 100)


def both(ops: list[Op], seed: int, models: tuple[str, ...] = ()) -> tuple[Verdict, Verdict, int]:
    """The verdict on the whole and on what is left, and how much that is."""
    history = History.of(ops)
    whole = judge(history, "list-append", Question(consistency_models=models))
    assert not whole.why.startswith("the checker"), whole.why
    smaller, question = CutLists(history, Random(seed), models).smaller()
    return whole, judge(smaller, "list-append", question), len(smaller.elements)


@pytest.mark.parametrize("models", [(), ("serializable",), ("strong-session-serializable",)])
def test_lists_judged_in_parts_have_the_verdict_of_the_whole(models: tuple[str, ...]) -> None:
    found: Counter[str] = Counter()
    for seed in SEEDS:
        whole, cut, _ = both(list_history(Random(seed)), seed, models)
        assert cut == whole, seed
        found.update({each.type for each in whole.found})
    assert len(found) > 8


def test_small_bent_histories_judged_in_parts_have_the_verdict_of_the_whole() -> None:
    for seed in range(200):
        whole, cut, _ = both(txn_history(Random(seed), lists=True, bend=0.6), seed)
        assert cut == whole, seed


@pytest.mark.slow
@pytest.mark.sweep
@pytest.mark.parametrize("first", MANY)
def test_many_lists_judged_in_parts_have_the_verdict_of_the_whole(first: int) -> None:
    for seed in range(first, first + 100):
        whole, cut, _ = both(list_history(Random(seed), 400), seed)
        assert cut == whole, seed
