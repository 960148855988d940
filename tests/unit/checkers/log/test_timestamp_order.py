"""timestamp-order: what each type of timestamps forbids, and who is excused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checkers import check
from checkers.contract import Contract
from checkers.stored import StoredHistory
from checkers.verdict import Validity, Verdict
from tests.unit.checkers.stories import Stamps, appended, polled, put, sent, stamped, told

APPEND_TIME = Contract(timestamp_type="LogAppendTime", one_clock=True)
CREATE_TIME = Contract(timestamp_type="CreateTime")
BACK = (stamped(polled(1, "x", (0, 1), (1, 2)), 70, 69),)
CHANGED = (stamped(sent(0, "x", (0, 1)), 70), stamped(polled(1, "x", (0, 1)), 71))
TWICE = (stamped(polled(1, "x", (0, 1)), 70), stamped(polled(2, "x", (0, 1)), 71))


def judged(contract: Contract, *operations: Any) -> Verdict:
    (verdict,) = check(told(*operations), contract, ["timestamp-order"])
    return verdict


def types(verdict: Verdict) -> list[str]:
    assert (verdict.validity is Validity.INVALID) == bool(verdict.anomalies)
    return [each.type for each in verdict.anomalies]


def test_a_step_back_is_reported_with_both_records() -> None:
    (found,) = judged(APPEND_TIME, *BACK).anomalies
    assert found.ops == (1,)
    assert found.because == (
        "process 1 (op 1) polled offset 0 of x with timestamp 70, and offset 1 with timestamp 69, "
        "which is 1 ms earlier"
    )
    assert found.witness == {
        "key": "x",
        "offsets": [0, 1],
        "values": [1, 2],
        "timestamps": [70, 69],
    }


def test_a_step_back_shows_between_polls_of_different_consumers_and_over_a_gap() -> None:
    polls = (stamped(polled(2, "x", (7, 2)), 69), stamped(polled(1, "x", (0, 1)), 70))
    (found,) = judged(APPEND_TIME, *polls).anomalies
    assert (found.ops, found.witness["offsets"]) == ((1, 3), [0, 7])


def test_a_failed_poll_is_evidence_too() -> None:
    polls = (
        stamped(polled(1, "x", (0, 1), outcome="fail"), 70),
        stamped(polled(2, "x", (1, 2), outcome="info"), 69),
    )
    assert types(judged(APPEND_TIME, *polls)) == ["timestamp-order"]


def test_logs_have_nothing_to_do_with_each_other() -> None:
    polls = (stamped(polled(1, "x", (0, 1)), 70), stamped(polled(1, "y", (1, 2)), 69))
    assert judged(APPEND_TIME, *polls).validity is Validity.VALID


def test_producers_may_have_any_order_under_create_time() -> None:
    history = (stamped(sent(0, "x", (0, 1), (1, 2)), 70, 69), *BACK)
    assert judged(CREATE_TIME, *history).validity is Validity.VALID


def test_a_record_with_another_timestamp_than_its_producer_sent() -> None:
    (found,) = judged(CREATE_TIME, *CHANGED).anomalies
    assert (found.type, found.ops) == ("timestamp-change", (1, 3))
    assert found.because == (
        "process 0 (op 1) sent 1 to x with timestamp 70, and process 1 (op 3) polled it at offset "
        "0 with timestamp 71"
    )
    assert found.witness == {"key": "x", "value": 1, "offset": 0, "timestamps": [70, 71]}
    assert judged(APPEND_TIME, *CHANGED).validity is Validity.VALID


@pytest.mark.parametrize("outcome", ["info", "fail"])
def test_a_send_of_another_outcome_says_what_it_sent(outcome: Any) -> None:
    send = stamped(sent(0, "x", (None, 1), outcome=outcome), 70)
    assert types(judged(CREATE_TIME, send, CHANGED[1])) == ["timestamp-change"]


@pytest.mark.parametrize("contract", [APPEND_TIME, CREATE_TIME])
def test_two_reads_of_one_record_agree(contract: Contract) -> None:
    (found,) = judged(contract, *TWICE).anomalies
    assert (found.type, found.ops) == ("timestamp-change", (1, 3))
    assert "polled 1 from x with timestamp 70" in found.because


def test_every_changed_record_is_counted_though_a_few_are_shown() -> None:
    pairs = [(at, at) for at in range(40)]
    history = (
        stamped(polled(1, "x", *pairs), *[70] * 40),
        stamped(polled(2, "x", *pairs), *[71] * 40),
        stamped(polled(3, "x", *pairs), *[72] * 40),
    )
    for contract in (APPEND_TIME, CREATE_TIME):
        verdict = judged(contract, *history)
        assert (len(verdict.anomalies), verdict.stats["count"]) == (16, 40)


def test_a_duplicate_has_a_time_of_its_own_only_under_append_time() -> None:
    copies = (stamped(sent(0, "x", (0, 1)), 60), stamped(polled(1, "x", (0, 1), (5, 1)), 60, 61))
    assert judged(APPEND_TIME, *copies).validity is Validity.VALID
    assert types(judged(CREATE_TIME, *copies)) == ["timestamp-change"]


def test_an_offset_with_two_values_is_left_to_its_own_checker() -> None:
    history = (
        stamped(polled(1, "x", (0, 1), (1, 2)), 70, 71),
        stamped(polled(2, "x", (0, 9)), 99),
    )
    assert judged(APPEND_TIME, *history).validity is Validity.VALID


def test_a_value_that_was_sent_twice_may_have_either_timestamp() -> None:
    sends = (stamped(sent(0, "x", (0, 1)), 70), stamped(sent(1, "x", (None, 1)), 71))
    verdict = judged(CREATE_TIME, *sends, stamped(polled(2, "x", (0, 1)), 71))
    assert not verdict.anomalies


def test_appends_and_puts_are_sends_too() -> None:
    append = (*appended(0, "x", 1), Stamps([70]))
    assert types(judged(CREATE_TIME, append, CHANGED[1])) == ["timestamp-change"]
    placed = (*put(0, 0, 1), Stamps([70]))
    assert types(judged(CREATE_TIME, placed, CHANGED[1])) == ["timestamp-change"]
    assert judged(CREATE_TIME, placed, TWICE[0]).validity is Validity.VALID


def test_a_tombstone_is_known_by_its_offset() -> None:
    deletion = (*put(0, 3, None), Stamps([70]))
    (found,) = judged(CREATE_TIME, deletion, stamped(polled(1, "x", (3, None)), 71)).anomalies
    assert "sent a tombstone to x with timestamp 70" in found.because
    kept = judged(CREATE_TIME, deletion, stamped(polled(1, "x", (3, None)), 70))
    assert kept.validity is Validity.VALID
    elsewhere = judged(CREATE_TIME, deletion, stamped(polled(1, "x", (4, None)), 71))
    assert elsewhere.validity is Validity.UNKNOWN


@pytest.mark.parametrize(
    ("contract", "row"),
    [
        (replace(APPEND_TIME, faults=frozenset({"clock"})), "clock"),
        (replace(APPEND_TIME, one_clock=False), "brokers on several machines"),
        (replace(APPEND_TIME, acks="1", judged_by="configured"), "acks=1"),
    ],
)
def test_a_step_back_is_allowed_where_clocks_differ_or_records_may_be_lost(
    contract: Contract, row: str
) -> None:
    verdict = judged(contract, *BACK)
    assert verdict.validity is Validity.VALID
    assert [(each.type, each.row) for each in verdict.allowed] == [("timestamp-order", row)]


def test_no_clock_excuses_a_timestamp_that_changes() -> None:
    moved = frozenset({"clock"})
    for contract in (APPEND_TIME, CREATE_TIME):
        elsewhere = replace(contract, faults=moved, one_clock=False)
        assert types(judged(elsewhere, *TWICE)) == ["timestamp-change"]


def test_a_record_that_was_lost_and_sent_again_is_stamped_again() -> None:
    lossy = replace(APPEND_TIME, acks="1", judged_by="configured")
    assert judged(lossy, *TWICE).validity is Validity.VALID
    own = replace(CREATE_TIME, acks="1", judged_by="configured")
    assert types(judged(own, *TWICE)) == ["timestamp-change"]


def test_without_a_type_or_timestamps_nothing_is_proved() -> None:
    assert judged(Contract(), *BACK).why == "message.timestamp.type of the topics is unknown"
    plain = judged(APPEND_TIME, polled(1, "x", (0, 1)))
    assert plain.why == "the history has no timestamps"
    alone = judged(CREATE_TIME, stamped(polled(1, "x", (0, 1)), 70))
    assert alone.why == "no record with a timestamp was both sent and polled"
    nowhere = judged(APPEND_TIME, stamped(sent(0, "x", (0, 1)), 70))
    assert nowhere.why == "no record was polled with a timestamp and an offset"


@pytest.mark.parametrize("contract", [APPEND_TIME, CREATE_TIME])
@pytest.mark.parametrize("story", [BACK, CHANGED, TWICE])
def test_a_history_on_disk_gets_the_same_verdict(
    tmp_path: Path, contract: Contract, story: tuple[Any, ...]
) -> None:
    history = told(sent(3, "x", (9, 8)), *story)
    history.write_parquet(tmp_path / "history.parquet")
    stored = StoredHistory.at(tmp_path)
    assert stored is not None
    (found,) = check(stored, contract, ["timestamp-order"])  # type: ignore[arg-type]
    (expected,) = check(history, contract, ["timestamp-order"])
    assert found == expected
