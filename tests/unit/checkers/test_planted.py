"""The long histories of the bench: nothing is wrong with the one, and each kind with the other."""

from __future__ import annotations

from bench.checker_histories import log_history
from bench.planted import kinds_planted
from checkers.contract import Contract
from checkers.models import Question, judge
from checkers.verdict import Validity
from harness.history.history import History

ASKED = Question(contract=Contract(stale_bound_ms=500, timestamp_type="LogAppendTime"))


def test_an_honest_history_has_no_anomaly() -> None:
    result = judge(History(log_history(30_000)), "kafka", ASKED)
    assert result.validity is Validity.VALID
    assert not result.found


def test_one_anomaly_of_each_kind_is_found_at_the_end() -> None:
    honest, history = log_history(30_000), History(log_history(30_000, planted=True))
    result = judge(history, "kafka", ASKED)
    assert set(result.as_json()["anomaly-types"]) == set(kinds_planted())
    assert len(history) < 1.2 * len(honest.ops)


def test_what_is_planted_is_the_last_of_all() -> None:
    history = History(log_history(30_000, planted=True))
    first = history.ops["f"].to_pylist().index("end-offsets")
    assert first > 0.9 * len(history)
    assert history.op(len(history) - 1).f == "end-offsets"
