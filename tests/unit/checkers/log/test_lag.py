"""How far behind a poll is, and when that is too far."""

from __future__ import annotations

from typing import Any

import pytest

from checkers import check
from checkers.contract import Contract
from checkers.models import Question, judge
from checkers.verdict import Validity
from harness.history.history import History
from harness.history.op import Op
from tests.unit.checkers.stories import assigned, polled, sent, told

MS = 1_000_000
SENT = sent(0, "x", (0, 1), (1, 2))


def slowly(*operations: Any) -> History:
    """Each operation takes a millisecond, and the next begins at once."""
    return History.of(
        Op(row.index, row.index // 2 * MS + row.index % 2 * (MS - 1), row.process, row.type, row.f,
           row.value)
        for row in told(*operations)
    )  # fmt: skip


def stale(history: History, bound_ms: float) -> list[tuple[tuple[int, ...], float]]:
    (verdict,) = check(history, Contract(stale_bound_ms=bound_ms), ["stale-read"])
    assert "broke" not in verdict.why
    return [(one.ops, round(one.witness["lag-ms"])) for one in verdict.anomalies]


def lag(history: History) -> Any:
    worst = judge(history, "kafka", Question()).stats["worst-realtime-lag"]
    return None if worst is None else (round(worst["lag-ms"]), worst["key"], worst["process"])


def test_a_poll_that_misses_what_was_acknowledged_before_it_is_behind() -> None:
    history = slowly(assigned(1, ["x"]), SENT, assigned(2, ["x"]), polled(1, "x", (0, 1)))
    assert stale(history, 0.5) == [((3, 7), 1)]
    assert stale(history, 2) == []
    assert lag(history) == (1, "x", 1)


def test_the_sentence_names_both_operations() -> None:
    history = slowly(assigned(1, ["x"]), SENT, assigned(2, ["x"]), polled(1, "x", (0, 1)))
    (verdict,) = check(history, Contract(stale_bound_ms=0.5), ["stale-read"])
    assert verdict.anomalies[0].because == (
        "process 0 (op 3) showed that offset 1 of x or a later one existed; a poll of process 1 "
        "(op 7) 1 ms later did not return it, and the bound is 0.5 ms"
    )


def test_without_a_bound_nobody_is_condemned() -> None:
    history = slowly(assigned(1, ["x"]), SENT, SENT, polled(1, "x"))
    (verdict,) = check(history, Contract(), ["stale-read"])
    assert verdict.validity is Validity.UNKNOWN
    assert "no bound was given" in verdict.why


@pytest.mark.parametrize(
    "operations",
    [
        # It shows all there is.
        (assigned(1, ["x"]), SENT, assigned(2, []), polled(1, "x", (0, 1), (1, 2))),
        # It was sent too late.
        (assigned(1, ["x"]), assigned(2, []), polled(1, "x"), SENT),
        # It reads another log.
        (assigned(1, ["y"]), SENT, assigned(2, []), polled(1, "y")),
        (assigned(1, ["x"]), assigned(1, ["y"]), SENT, assigned(2, []), polled(1, "y")),
        # It begins behind.
        (assigned(1, {"x": 2}), SENT, assigned(2, []), polled(1, "x")),
        # A group gave it the log, and nobody knows from where on.
        ((1, "ok", "subscribe", ["x"]), SENT, assigned(2, []), polled(1, "x")),
        # What is below the low watermark is gone.
        (
            assigned(1, ["x"]),
            SENT,
            (0, "ok", "end-offsets", {"low": {"x": 2}}),
            polled(1, "x"),
        ),
        # Nobody knows whether it was sent at all.
        (assigned(1, ["x"]), sent(0, "x", (None, 1), outcome="info"), polled(1, "x")),
    ],
)
def test_who_is_not_behind(operations: Any) -> None:
    assert stale(slowly(*operations), 0) == []


def test_a_key_that_is_kept_keeps_its_place() -> None:
    told_ = (assigned(1, ["x"]), SENT, polled(1, "x", (0, 1), (1, 2)), assigned(1, ["x", "y"]))
    assert stale(slowly(*told_, polled(1, "x")), 0) == []
    away = (*told_, assigned(1, ["y"]), assigned(1, ["x"]), polled(1, "x"))
    assert stale(slowly(*away), 0) == [((3, 13), 4)]


def test_a_group_s_log_is_followed_from_the_first_record_on() -> None:
    given = (1, "ok", "assigned", {"group": "g", "generation": 1, "keys": ["x"]})
    taken = (1, "ok", "revoked", {"group": "g", "generation": 1, "keys": ["x"]})
    followed = (given, SENT, polled(1, "x", (0, 1)), polled(1, "x"))
    assert [ops for ops, _ in stale(slowly(*followed), 0.5)] == [(3, 7)]
    assert stale(slowly(*followed[:3], taken, polled(1, "y")), 0.5) == []


def test_offsets_far_apart_are_no_trouble() -> None:
    far = sent(0, "x", (0, 1), (1 << 60, 2))
    history = slowly(assigned(1, {"x": 5}), far, assigned(2, []), polled(1, "x"))
    assert [ops for ops, _ in stale(history, 0.5)] == [(3, 7)]
