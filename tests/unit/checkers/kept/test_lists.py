"""A run of appends: one list, one order, and no more than Kafka promises of reads."""

from __future__ import annotations

from typing import Any

from checkers import check
from checkers.contract import Contract
from checkers.verdict import Validity
from harness.history.history import History
from tests.unit.checkers.stories import appended, polled, told

UNSAFE = Contract(acks="1", idempotence=False, unclean_leader_election=True)


def read(process: int, *values: Any) -> Any:
    return process, "ok", "txn", [["r", "x", list(values)]]


def types(history: History) -> set[str]:
    return {anomaly.type for anomaly in check(history, Contract(), ["list-append"])[0].anomalies}


def test_a_read_of_a_leader_that_was_deposed_is_told_and_allowed() -> None:
    history = told(appended(0, "x", 1), read(1), read(2, 1))
    verdict = check(history, Contract(), ["list-append"])[0]
    assert verdict.validity is Validity.VALID
    assert [each.type for each in verdict.allowed] == ["G-single-item-realtime"]


def test_a_list_that_was_replaced_by_another_is_found() -> None:
    history = told(appended(0, "x", 1), appended(0, "x", 2), read(1, 1), read(1, 2))
    assert types(history) == {"incompatible-order"}


def test_an_order_that_contradicts_time_is_found() -> None:
    assert types(told(appended(0, "x", 1), appended(1, "x", 2), read(2, 2, 1))) == {"G0-realtime"}


def test_an_append_that_was_read_past_is_found_though_nobody_ever_read_it() -> None:
    assert types(told(appended(0, "x", 1), appended(1, "x", 2), read(2, 2))) == {"G0-realtime"}


def test_an_append_that_comes_after_what_was_read_before_it_began() -> None:
    history = told((0, "info", "txn", [["append", "x", 1]]), read(1, 1), appended(2, "x", 2))
    assert check(history, Contract(), ["list-append"])[0].validity is Validity.VALID
    again = told(
        (0, "info", "txn", [["append", "x", 1]]), read(1, 1), appended(2, "x", 2), read(3, 2, 1)
    )
    assert types(again) == {"incompatible-order"}


def test_a_value_twice_is_a_duplicate_by_the_row_of_duplicates() -> None:
    history = told(appended(0, "x", 1), read(1, 1, 1))
    (found,) = check(history, Contract(), ["list-append"])[0].anomalies
    assert found.type == "duplicate-elements"
    assert "appended once" in found.contract
    allowed = check(history, Contract(idempotence=False, judged_by="configured"), ["list-append"])[
        0
    ]
    assert allowed.validity is Validity.VALID


def test_a_loss_is_an_anomaly_that_the_configuration_may_not_have_promised_against() -> None:
    history = told(appended(0, "x", 1), appended(0, "x", 2), read(1, 1), read(1, 2))
    (found,) = check(history, UNSAFE, ["list-append"])[0].anomalies
    assert "does not promise it" in found.contract


def test_lists_that_nobody_read_prove_nothing() -> None:
    verdict = check(told(appended(0, "x", 1)), Contract(), ["list-append"])[0]
    assert verdict.validity is Validity.UNKNOWN
    assert verdict.why == "no transaction depends on another"


def test_a_loss_at_the_very_end_is_seen_by_the_reading_back_alone() -> None:
    history = told(appended(0, "x", 1), read(1, 1), appended(0, "x", 2), polled(1, "x", (0, 1)))
    assert check(history, Contract(), ["list-append"])[0].validity is Validity.VALID
    (verdict,) = check(history, Contract(), ["lost-append"])
    (lost,) = verdict.anomalies
    assert lost.witness == {"key": "x", "value": 2}


def test_an_append_of_unknown_outcome_may_be_missing() -> None:
    history = told(appended(0, "x", 1), appended(1, "x", 2, outcome="info"), polled(2, "x", (0, 1)))
    (verdict,) = check(history, Contract(), ["lost-append"])
    assert verdict.validity is Validity.VALID


def test_what_was_read_once_must_be_there_in_the_end() -> None:
    info: Any = (0, "info", "txn", [["append", "x", 1]])
    story = (info, appended(1, "x", 2), read(2, 1, 2), read(3, 1, 2))
    (verdict,) = check(told(*story, polled(4, "x", (1, 2))), Contract(), ["lost-append"])
    assert [one.because for one in verdict.anomalies] == [
        "process 2 (op 5) read 1 from x, and the final read of the list lacks it"
    ]
    kept = told(*story, polled(4, "x", (0, 1), (1, 2)))
    (verdict,) = check(kept, Contract(), ["lost-append"])
    assert verdict.validity is Validity.VALID
