"""Logs told by slots alone, and value by value: nothing depends on which of them is odd."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from checkers import kernels
from checkers.log import facts, placed, survey
from checkers.models import Question, judge
from checkers.stored import StoredHistory, columns_of
from harness.history.history import History
from harness.history.op import Op, OpType
from harness.history.parquet import write_parquet
from tests.property.log_histories import log_history
from tests.property.orderly_histories import orderly_history
from tests.unit.checkers.stories import polled, sent, told

SEEDS = range(80)


def _history(seed: int) -> History:
    """Most of them in order but for a few places."""
    if seed % 4:
        return History.of(orderly_history(Random(seed)))
    return History.of(log_history(Random(seed), bend=0.1, most=40))


def _verdicts() -> list[str]:
    return [json.dumps(judge(_history(seed), "kafka", Question()).as_json()) for seed in SEEDS]


def _odd(*operations: Any) -> set[str]:
    """The keys of a history that slots alone do not tell."""
    history = told(*operations)
    found: list[Any] = []

    def noted(*given: Any) -> Any:
        found.append(placed.placed_values(*given))
        return found[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(facts, "placed_values", noted)
        judge(history, "kafka", Question())
    return {str(history.keys[key]) for key in found[0].keys.odd.nonzero()[0]}


@pytest.mark.parametrize("little", [0, kernels.LITTLE], ids=["compiled", "plain"])
def test_odd_keys_are_told_as_even_ones_are(monkeypatch: pytest.MonkeyPatch, little: int) -> None:
    monkeypatch.setattr(kernels, "LITTLE", little)
    kinds: Counter[str] = Counter()

    def counted(*given: Any) -> Any:
        told_ = placed.placed_values(*given)
        odd = told_.keys.odd if told_ else None
        name = "none" if odd is None else "odd" if odd.all() else "some" if odd.any() else "even"
        kinds[name] += 1
        return told_

    monkeypatch.setattr(facts, "placed_values", counted)
    by_slots = _verdicts()
    assert min(kinds["even"], kinds["some"], kinds["odd"]) > 5, kinds

    def all_odd(*given: Any) -> Any:
        told_ = placed.placed_values(*given)
        if told_ is not None:
            told_.keys.odd[:] = True
        return told_

    monkeypatch.setattr(facts, "placed_values", all_odd)
    assert _verdicts() == by_slots
    monkeypatch.setattr(facts, "placed_values", lambda *_: None)
    assert _verdicts() == by_slots


def test_values_are_told_by_slots_when_they_are_asked_for() -> None:
    history = told(
        sent(0, "x", (0, 1), (1, 2)),
        sent(1, "x", (None, 3), outcome="info"),
        sent(2, "x", (None, 4), outcome="info"),
        polled(3, "x", (0, 1), (1, 2), (2, 3)),
    )
    known = facts.LogFacts(columns_of(history))
    values = known.values
    by_value = {
        int(known.columns.elements.value[element]): int(number)
        for element, number in enumerate(known.number)
        if number >= 0
    }
    assert [int(values.writer[by_value[value]]) for value in (1, 2, 3, 4)] == [1, 1, 3, 5]
    assert [int(values.first[by_value[value]]) for value in (1, 2, 3, 4)] == [0, 1, 2, -1]
    readers = [int(values.reader[by_value[value]]) for value in (1, 2, 3)]
    assert known.columns.elements.value[readers].tolist() == [1, 2, 3]
    assert known.columns.elements.op[readers].tolist() == [7, 7, 7]
    assert values.reader[by_value[4]] == -1
    assert known.committed.tolist() == [0, 1, 0, 1, 0, 0, 0, 1]


HONEST = (sent(0, "x", (0, 1), (1, 2)), sent(1, "y", (0, 3)), polled(2, "x", (0, 1), (1, 2)))
READ = polled(3, "y", (0, 3))
BOTH: Any = (5, "ok", "txn", [["send", "x", [2, 6]], ["send", "y", [1, 8]]])


@pytest.mark.parametrize(
    ("more", "odd"),
    [
        ((READ,), set()),
        ((READ, polled(4, "x", (1, 2))), set()),
        ((), {"y"}),
        ((READ, sent(4, "x", (2, 1))), {"x"}),
        ((READ, sent(4, "x", (1, 2))), {"x"}),
        ((READ, sent(4, "x", (2, 5), (3, 5)), polled(5, "x", (2, 5), (3, 5))), {"x"}),
        ((READ, sent(4, "x", (2, 5)), sent(5, "x", (2, 6)), polled(6, "x", (2, 6))), {"x"}),
        ((READ, sent(4, "x", (2, 5)), BOTH, polled(6, "x", (2, 6)), polled(7, "y", (1, 8))), {"x"}),
        ((READ, BOTH, polled(6, "x", (2, 6)), polled(7, "y", (1, 8))), set()),
        ((READ, sent(4, "y", (1, 1))), {"x", "y"}),
        ((READ, sent(4, "y", (None, 1), outcome="fail")), {"x", "y"}),
        ((READ, polled(4, "y", (1, 2))), {"x", "y"}),
        ((READ, polled(4, "x", (0, 2))), {"x"}),
        ((READ, polled(4, "x", (0, 3))), {"x", "y"}),
        ((READ, polled(4, "x", (0, 1), outcome="info")), {"x"}),
        ((READ, polled(4, "y", (0, 1), outcome="info")), {"x", "y"}),
        ((READ, polled(4, "y", (None, 1))), {"x", "y"}),
        ((READ, polled(4, "y", (1, 9))), {"y"}),
        ((READ, sent(4, "x", (None, 7))), {"x"}),
        ((READ, sent(4, "x", (2, 7), outcome="info"), polled(5, "x", (2, 7))), {"x"}),
        ((READ, sent(4, "x", (None, 7), outcome="info"), polled(5, "x", (2, 7))), set()),
        ((READ, sent(4, "x", (None, 7), outcome="info"), polled(5, "y", (1, 7))), {"x", "y"}),
        ((READ, sent(4, "x", (None, 7), outcome="fail"), polled(5, "x", (2, 7))), {"x"}),
        (
            (
                READ,
                sent(4, "x", (None, 7), outcome="info"),
                polled(5, "x", (2, 7)),
                polled(6, "x", (3, 7)),
            ),
            {"x"},
        ),
    ],
)
def test_what_makes_a_key_odd(more: tuple[Any, ...], odd: set[str]) -> None:
    assert _odd(*HONEST, *more) == odd


@pytest.mark.parametrize(
    "operations",
    [
        (sent(0, "x", (1, 2)), sent(1, "x", (0, 1)), polled(2, "x", (0, 1), (1, 2))),
        (polled(2, "x", (0, 1)), sent(1, "x", (0, 1))),
        (polled(2, "x", (0, 1)), sent(1, "x", (None, 1), outcome="info")),
    ],
    ids=["acknowledged", "shown", "shown, and its sender knows nothing"],
)
def test_what_is_told_before_it_is_begun_is_seen_by_slots(operations: tuple[Any, ...]) -> None:
    assert _odd(*operations) == set()
    found = judge(told(*operations), "kafka", Question()).as_json()["anomaly-types"]
    assert "nonlinearizable-log" in found


def test_so_many_strange_values_that_all_keys_are_odd(monkeypatch: pytest.MonkeyPatch) -> None:
    by_slots = _verdicts()
    monkeypatch.setattr(placed, "_STRANGE", 0)
    assert _verdicts() == by_slots


@pytest.mark.parametrize("at_once", [2, 3, 7])
def test_elements_are_seen_alike_however_many_at_once(
    monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    whole = _verdicts()
    monkeypatch.setattr(survey, "_AT_ONCE", at_once)
    assert _verdicts() == whole


def test_spans_are_those_of_the_columns() -> None:
    for seed in SEEDS:
        columns = columns_of(_history(seed))
        begin, end = facts.LogFacts(columns).survey.spans
        assert [begin.tolist(), end.tolist()] == [each.tolist() for each in columns.spans]


def test_values_that_count_on_into_another_producers_are_apart() -> None:
    """The last value of one producer and the first of the next differ by one."""
    last = (1 << 32) - 1
    history = told(sent(0, "x", (0, last), (1, last + 1)), polled(1, "x", (0, last), (1, last + 1)))
    assert judge(history, "kafka", Question()).as_json()["valid"] is True
    columns = columns_of(history)
    number = facts.LogFacts(columns).number
    assert len({int(one) for one in number if one >= 0}) == 2


def test_a_record_without_a_value_is_no_value_among_others() -> None:
    """Nothing is not 0, though that is how a column has it."""
    history = told(
        sent(0, "x", (0, 0), (1, 1)), polled(1, "x", (0, 0), (1, 1), (2, None)), READ, HONEST[1]
    )
    known = facts.LogFacts(columns_of(history))
    assert known.slots.held[:3].tolist() == [0, 1, -1]
    assert known.polled == 3


def test_what_is_sent_and_what_is_polled_side_by_side_is_not_plain() -> None:
    both: Any = (1, "ok", "txn", [["send", "x", [0, 1]], ["poll", {"x": [[1, 2]]}]])
    history = told(sent(0, "x", (1, 2)), both)
    known = facts.LogFacts(columns_of(history)).survey
    assert known.plain.tolist() == [False, True, False, False]
    assert known.roles.tolist() == [0, 1, 0, 3]


@pytest.mark.parametrize("value", [1, "one"])
def test_what_invocations_say_besides_changes_no_witness(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: Any
) -> None:
    """They are read with a history in memory, and left where they are with one on disk."""
    steps: tuple[tuple[int, OpType, str, Any], ...] = (
        (0, "invoke", "x", value),
        (1, "invoke", "y", value),
        (1, "ok", "y", [0, value]),
        (0, "ok", "x", [0, value]),
        (2, "invoke", "x", 2),
        (2, "ok", "x", [0, 2]),
        (2, "invoke", "y", 2),
        (2, "ok", "y", [0, 2]),
    )
    rows = [
        Op(number, number, process, type_, "send", [["send", key, what]])
        for number, (process, type_, key, what) in enumerate(steps)
    ]
    history = History.of(rows)
    write_parquet(history.tables, tmp_path)
    verdicts = [
        judge(one, "kafka", Question()).as_json() for one in (history, StoredHistory(tmp_path))
    ]
    monkeypatch.setattr(facts, "placed_values", lambda *_: None)
    verdicts.append(judge(history, "kafka", Question()).as_json())
    assert verdicts[0]["anomalies"]["inconsistent-offsets"]
    assert verdicts[0] == verdicts[1] == verdicts[2]
