"""Values of several keys: looked at again alone, they are what they are when all are numbered."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from checkers.log import settled
from checkers.log.strays import set_apart
from checkers.models import Question, judge
from harness.history.history import History
from tests.property.log_histories import log_history
from tests.unit.checkers.stories import polled, sent, told


def _verdict(seed: int) -> str:
    history = History.of(log_history(Random(seed), bend=0.3, most=40))
    return json.dumps(judge(history, "kafka", Question()).as_json())


def test_strays_set_apart_give_the_same_verdict_as_numbering_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = 0

    def counted(*given: Any) -> Any:
        nonlocal asked
        asked += 1
        return set_apart(*given)

    monkeypatch.setattr(settled, "set_apart", counted)
    alone = [_verdict(seed) for seed in range(60)]
    assert asked > 20
    monkeypatch.setattr(settled, "set_apart", lambda *_: None)
    assert alone == [_verdict(seed) for seed in range(60)]


@pytest.mark.parametrize("others", [(), (sent(0, "x", (0, 1)), polled(1, "x", (0, 1)))])
def test_a_value_that_nobody_sent_and_that_is_nowhere_is_in_no_slot(others: Any) -> None:
    history = told(*others, polled(1, "x", (None, 7)))
    result = judge(history, "kafka", Question())
    assert {anomaly.type for anomaly in result.found} == {"phantom-read"}


def test_where_a_record_is_that_was_shown_without_its_offset_is_unknown() -> None:
    failed = sent(0, "x", (None, 8), outcome="fail")
    history = told(failed, polled(1, "x", (None, 7)), polled(1, "x", (None, 8)))
    found = {anomaly.type: anomaly for anomaly in judge(history, "kafka", Question()).found}
    for type_ in ("phantom-read", "G1a"):
        assert found[type_].witness["offset"] is None
        assert "at an offset unknown" in found[type_].because
