"""Transactions: when one hangs, whose late request excuses what, and what entries of deals say."""

from __future__ import annotations

from typing import Any

import pytest

from checkers import check
from checkers.contract import Contract
from checkers.verdict import Validity, Verdict
from harness.client.entries import Entry, entry_of, entry_value, plain_value
from harness.history.history import History
from harness.history.op import Op
from tests.unit.checkers.guilty import dealt, entries
from tests.unit.checkers.stories import polled, sent, told

SECOND = 1_000_000_000
TORN = (
    (0, "ok", "txn", [["send", "x", [0, 1]], ["send", "y", [0, 2]]]),
    sent(1, "y", (1, 3)),
    polled(2, "x", (0, 1)),
    polled(2, "y", (1, 3)),
)
ABORTED = (
    (0, "fail", "txn", [["send", "x", [0, 1]], ["abort"]]),
    polled(2, "x", (0, 1)),
)
LOST = (
    (0, "ok", "txn", [["send", "x", [0, 1]]]),
    sent(1, "x", (1, 3)),
    polled(2, "x", (1, 3)),
)


def transaction(process: int, *steps: Any, protocol: int | None = 1, end: str = "aborted") -> Any:
    value = {
        "id": f"t{process}",
        "producer": None,
        "epoch": None,
        "protocol": protocol,
        "end": end,
        "fenced": False,
        "steps": list(steps),
    }
    return process, "ok", "transaction", value


UNANSWERED = (["begin", "ok", 0], ["send", "_MSG_TIMED_OUT", 3000], ["abort", "ok", 5])
SLOW = (["begin", "ok", 0], ["send", "ok", 4], ["abort", "ok", 2600])
LATE_COMMIT = (["begin", "ok", 0], ["send", "ok", 48], ["commit", "ok", 2135])
ANSWERED = (["begin", "ok", 0], ["send", "ok", 4], ["commit", "ok", 30])


def verdict(name: str, *operations: Any, contract: Contract | None = None) -> Verdict:
    return check(told(*operations), contract or Contract(), [name])[0]


@pytest.mark.parametrize("steps", [UNANSWERED, SLOW, LATE_COMMIT])
@pytest.mark.parametrize(
    ("name", "story"), [("torn-transaction", TORN), ("G1a", ABORTED), ("lost-write", LOST)]
)
def test_under_protocol_1_a_late_request_may_hit_the_next_transaction(
    name: str, story: Any, steps: Any
) -> None:
    before = transaction(0, *steps)
    found = verdict(name, before, *story)
    assert found.validity is Validity.VALID
    (anomaly,) = found.found
    assert anomaly.type == name
    assert anomaly.row.startswith("transaction protocol 1")
    assert "KAFKA-17754" in anomaly.contract


@pytest.mark.parametrize(
    "before",
    [
        transaction(0, *ANSWERED),
        transaction(0, *UNANSWERED, protocol=2),
        transaction(0, *LATE_COMMIT, protocol=2, end="committed"),
        transaction(0, *UNANSWERED, protocol=None),
        transaction(5, *UNANSWERED),
    ],
    ids=["all answered", "protocol 2", "late commit", "unknown protocol", "of another producer"],
)
@pytest.mark.parametrize(
    ("name", "story"), [("torn-transaction", TORN), ("G1a", ABORTED), ("lost-write", LOST)]
)
def test_nothing_else_excuses_it(name: str, story: Any, before: Any) -> None:
    assert verdict(name, before, *story).validity is Validity.INVALID


def at(*rows: tuple[float, int, str, str, Any]) -> History:
    """Rows with their second, process, type, f and value."""
    return History.of(
        [
            Op(index, int(when * SECOND), process, type_, f, value)  # type: ignore[arg-type]
            for index, (when, process, type_, f, value) in enumerate(rows)
        ]
    )


def hanging(asked_s: float, *, stable: int, end: str, outcome: str = "fail") -> Verdict:
    offsets = {"low": {"x": 0}, "stable": {"x": stable}, "high": {"x": 2}}
    begin = {"id": "t0", "timeout-ms": 3000}
    sends = [["send", "x", [0, 1]]]
    history = at(
        (0, 0, "invoke", "init-transactions", begin),
        (0.1, 0, "ok", "init-transactions", begin),
        (0.2, 0, "invoke", "txn", [["send", "x", 1]]),
        (0.3, 0, "ok", "transaction", transaction(0, *UNANSWERED, end=end)[3]),
        (0.4, 0, outcome, "txn", sends),
        (asked_s, 1, "invoke", "end-offsets", ["x"]),
        (asked_s + 0.1, 1, "ok", "end-offsets", offsets),
    )
    return check(history, Contract(), ["hanging-transaction"])[0]


def test_a_transaction_that_was_aborted_may_not_hold_readers_up() -> None:
    assert hanging(1, stable=0, end="aborted").validity is Validity.INVALID


@pytest.mark.parametrize(("end", "outcome"), [("left", "fail"), ("unknown", "info")])
def test_one_that_was_left_open_may_until_its_time_is_up(end: str, outcome: str) -> None:
    assert hanging(14, stable=0, end=end, outcome=outcome).validity is Validity.UNKNOWN
    assert hanging(16, stable=0, end=end, outcome=outcome).validity is Validity.INVALID


def test_an_answer_without_any_open_transaction_counts_at_any_time() -> None:
    assert hanging(1, stable=2, end="left").validity is Validity.VALID


def test_entries_speak_for_themselves() -> None:
    for client, deal, part, parts, amount in [(0, 0, 0, 2, 1), (5, 70_000, 2, 3, 3)]:
        value = entry_value(client, deal, part, parts, amount)
        assert entry_of(value) == Entry(client + 1 << 32 | deal, part, parts, amount)
    assert entry_of(plain_value(3, 9)) is None
    assert entry_of(7) is None
    assert entry_of("damaged: x") is None


def test_an_entry_that_nobody_was_returned_is_missing_from_the_books() -> None:
    deals = (dealt(0, 1, ("x", 0), ("y", 0)), entries(1, ("x", 0, 1, 0, 2)))
    found = verdict("bank-total", *deals)
    assert found.validity is Validity.INVALID
    assert "off by -2" in found.anomalies[0].because
    assert found.stats["off-by"] == -2


def test_who_asked_for_no_transactions_was_promised_none() -> None:
    deals = (dealt(0, 1, ("x", 0), ("y", 0), outcome="info"), entries(1, ("x", 0, 1, 0, 2)))
    configured = Contract(transactions=False, judged_by="configured")
    assert verdict("bank-total", *deals, contract=configured).validity is Validity.VALID
    found = verdict("bank-total", *deals, contract=Contract(transactions=False))
    assert found.validity is Validity.INVALID
    assert "Without transactions" in found.anomalies[0].contract


def test_without_an_entry_nothing_is_proved() -> None:
    for name in ("bank-total", "oversold", "processed-offsets"):
        found = verdict(name, sent(0, "x", (0, 1)), polled(1, "x", (0, 1)))
        assert found.validity is Validity.UNKNOWN
