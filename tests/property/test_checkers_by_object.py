"""A history judged in parts of whole objects has the verdict of the whole history."""

from __future__ import annotations

from functools import reduce
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.columns import Columns
from checkers.linear import search
from checkers.linear.by_object import Summary, conclude, merge, summarise
from checkers.linear.keyed import KEYED
from checkers.models import Question, judge
from checkers.verdict import Verdict
from harness.history.history import History
from harness.history.json_text import canonical_text
from harness.history.op import Op
from tests.property.keyed_histories import keyed_history, object_of


@pytest.fixture(autouse=True)
def small_first_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Histories are small, and so must be the budgets for several rounds to be needed."""
    monkeypatch.setattr(search, "_FIRST_BUDGET", 2)
    monkeypatch.setattr(search, "_GROWTH", 2)


def parts_of(dice: Random, rows: list[Op], count: int) -> list[Columns]:
    """Whole objects, dealt to some parts; a part without rows is a part, too."""
    keys = object_of(rows)
    chosen: dict[str, int] = {}
    parts: list[list[Op]] = [[] for _ in range(count)]
    for row in rows:
        key = canonical_text(keys[row.process]) if row.process in keys else ""
        parts[chosen.setdefault(key, dice.randrange(count))].append(row)
    return [Columns(History.of(part)) for part in parts]


def summary_of_parts(dice: Random, rows: list[Op], model: str, question: Question) -> Summary:
    """As the caller of by_object.py makes it. Parts come in any order."""
    parts = parts_of(dice, rows, dice.randint(1, 4))
    summary, only = Summary(), None
    for round_, _ in enumerate(search.shares(question.budget)):
        found = [summarise(part, model, question, round_=round_, only=only) for part in parts]
        dice.shuffle(found)
        summary = reduce(merge, found, summary)
        only = summary.open_objects
        if not only.size:
            break
    return summary


def judged_in_parts(dice: Random, rows: list[Op], model: str, question: Question) -> Verdict:
    summary = summary_of_parts(dice, rows, model, question)
    return conclude(summary, model, question, ops=len(rows))


def drawn_question(dice: Random) -> Question:
    return Question(
        budget=dice.choice((1, 2, 5, 11, 40, 1_000)),
        null_read=dice.choice(("asserts", "ignored")),
        failed_cas=dice.choice(("asserts", "ignored")),
    )


def broken_rows(dice: Random, rows: list[Op]) -> list[Op]:
    """Some values have not the shape of the model."""
    strange: tuple[Any, ...] = (None, [1], [1, 2, 3], 5)
    return [
        Op(row.index, row.time_ns, row.process, row.type, row.f, dice.choice(strange),
           extra=row.extra)
        if row.f == "cas" and dice.random() < 0.2
        else row
        for row in rows
    ]  # fmt: skip


@pytest.mark.parametrize("model", KEYED)
@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_parts_have_the_verdict_of_the_whole(model: str, seed: int) -> None:
    dice = Random(seed)
    rows = keyed_history(dice, model, bad=dice.choice((0.0, 0.2, 0.7)))
    question = drawn_question(dice)
    whole = judge(History.of(rows), model, question)
    assert judged_in_parts(dice, rows, model, question) == whole


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_model_that_breaks_says_so_of_the_first_operation_that_breaks_it(seed: int) -> None:
    dice = Random(seed)
    rows = broken_rows(dice, keyed_history(dice, "cas-register"))
    whole = judge(History.of(rows), "cas-register", Question())
    assert judged_in_parts(dice, rows, "cas-register", Question()) == whole


def test_an_object_is_searched_again_only_while_every_answer_is_open() -> None:
    dice = Random(3)
    rounds = set()
    for _ in range(200):
        rows = keyed_history(dice, "register", bad=0.3)
        summary = summary_of_parts(dice, rows, "register", Question())
        answered = summary.tries.first[summary.tries.answer > 0].tolist()
        assert len(set(answered)) == len(answered)
        if summary.refuted is not None:
            rounds.add(summary.until.round)
            assert summary.tries.round.max() == summary.until.round
    assert len(rounds) > 2
