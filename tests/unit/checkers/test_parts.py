"""Two threads say what one says; and whatever is told first, the log is the same."""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest

from checkers import parts
from checkers.models import Question, judge
from harness.history.history import History
from harness.history.op import Op
from tests.property.log_histories import log_history
from tests.property.txn_histories import txn_history


def test_halves_cover_everything_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "WORTH_IT", 0)
    for most in (0, 1, 7):
        halves = parts.in_halves(most, lambda low, high: list(range(low, high)), size=most)
        assert [one for half in halves for one in half] == list(range(most))


@pytest.mark.parametrize("seed", range(30))
def test_two_threads_find_what_one_finds(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    histories = {
        "kafka": History.of(log_history(Random(seed), bend=0.2, most=40)),
        "list-append": History.of(txn_history(Random(seed), lists=True, bend=0.8)),
    }
    alone = {model: judge(of, model, Question()).as_json() for model, of in histories.items()}
    monkeypatch.setattr(parts, "WORTH_IT", 0)
    for model, history in histories.items():
        assert judge(history, model, Question()).as_json() == alone[model]


@pytest.mark.parametrize("offsets", tuple(permutations((0, 1, 2))))
def test_a_value_at_three_offsets_is_at_all_of_them(offsets: tuple[int, ...]) -> None:
    """Whichever is told first, the one in between is not forgotten."""
    rows = [
        Op(number, number, number, "ok", "poll", [["poll", {"x": [[offset, 7]]}]])
        for number, offset in enumerate(offsets)
    ]
    rows.append(Op(3, 3, 3, "ok", "poll", [["poll", {"x": [[1, 8]]}]]))
    verdict = judge(History.of(rows), "kafka", Question()).as_json()
    (clash,) = verdict["anomalies"]["inconsistent-offsets"]
    assert clash["witness"]["values"] == [7, 8]
    (double,) = verdict["anomalies"]["duplicate"]
    assert double["witness"]["offsets"] == [0, 1, 2]
