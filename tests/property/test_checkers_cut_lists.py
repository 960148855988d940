"""Histories of lists judged in parts have the verdict of the whole: findings, witnesses, counts."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from checkers.findings import SHOWN
from checkers.models import Question, judge
from checkers.verdict import Verdict
from harness.history.history import History
from tests.property.cut_lists import CutLists
from tests.property.list_histories import ListPlay, failed, list_history, many_aborted, txn
from tests.property.txn_histories import txn_history
from tests.unit.checkers.stories import told

LIST_APPEND = "list-append"

SEEDS = range(40)
MANY = range(1_000, 3_000, 100)


def both(history: History, seed: int, models: tuple[str, ...] = ()) -> tuple[Verdict, Verdict, int]:
    """The verdict on the whole and on what is left, and how many elements that has."""
    whole = judge(history, LIST_APPEND, Question(consistency_models=models))
    assert not whole.why.startswith("the checker"), whole.why
    smaller, question = CutLists(history, Random(seed), models).smaller()
    return whole, judge(smaller, LIST_APPEND, question), len(smaller.elements)


def types(verdict: Verdict) -> set[str]:
    return {each.type for each in verdict.found}


@pytest.mark.parametrize("models", [(), ("serializable",), ("strong-session-serializable",)])
def test_lists_judged_in_parts_have_the_verdict_of_the_whole(models: tuple[str, ...]) -> None:
    found: Counter[str] = Counter()
    for seed in SEEDS:
        whole, cut, _ = both(History.of(list_history(Random(seed))), seed, models)
        assert cut == whole, seed
        found.update(types(whole))
    assert len(found) > 8


def test_small_bent_histories_judged_in_parts_have_the_verdict_of_the_whole() -> None:
    for seed in range(100):
        history = History.of(txn_history(Random(seed), lists=True, bend=0.6))
        whole, cut, _ = both(history, seed)
        assert cut == whole, seed


def test_of_lists_in_which_nothing_is_wrong_nothing_is_left() -> None:
    whole = left = 0
    for seed in range(20):
        play = ListPlay(Random(seed), count=150, keys=12, at_once=5, bend=0.01)
        history = History.of(play.play())
        verdict, cut, kept = both(history, seed)
        assert cut == verdict
        assert not kept or verdict.found
        whole, left = whole + len(history.elements), left + kept
    assert 0 < left < 0.2 * whole


def test_findings_are_told_by_values_as_the_whole_history_numbers_them() -> None:
    """Of twenty aborted values of `x` sixteen are told: first those that no list had before."""
    odd = [txn(0, ["append", "a", number]) for number in range(1, 21, 2)]
    dirty = [failed(1, ["append", "x", number]) for number in range(1, 21)]
    history = told(*odd, *dirty, txn(2, ["r", "x", list(range(1, 21))]))
    whole, cut, _ = both(history, 0)
    values = [each.witness["element"] for each in whole.found if each.type == "G1a"]
    assert values == [*range(2, 21, 2), *range(1, 12, 2)]
    assert cut == whole


def test_of_many_aborted_values_the_first_ones_are_told() -> None:
    """In lists that have their own values and lists that have those of others; few are kept."""
    history = many_aborted()
    whole, cut, kept = both(history, 0)
    assert {"G1a", "dirty-update"} <= types(whole)
    assert cut == whole
    assert kept < 0.9 * len(history.elements)


def test_a_value_that_only_a_disagreeing_read_shows_is_not_unread() -> None:
    """Were it unread, it would come behind all that was read, and be in one cycle more."""
    strange = [txn(0, ["append", "z", 1], ["append", "z", 2])]
    strange += [txn(0, ["r", "z", [1 + number % 2]]) for number in range(4 * SHOWN)]
    cycle = [
        txn(1, ["append", "y", 1], ["append", "y", 3]),
        txn(2, ["append", "y", 2], ["append", "r", 5], ["r", "q", [1]]),
        txn(3, ["append", "q", 1], ["r", "r", [5]], ["r", "y", [1, 3]]),
        txn(4, ["r", "y", [2]]),
    ]
    whole, cut, _ = both(told(*strange, *cycle), 0)
    assert "G1c" in types(whole)
    assert cut == whole


@pytest.mark.slow
@pytest.mark.sweep
@pytest.mark.parametrize("first", MANY)
def test_many_lists_judged_in_parts_have_the_verdict_of_the_whole(first: int) -> None:
    for seed in range(first, first + 100):
        whole, cut, _ = both(History.of(list_history(Random(seed), 400)), seed)
        assert cut == whole, seed
