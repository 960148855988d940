"""Each checker finds the guilty, spares its neighbour, and knows when it saw nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from checkers import CHECKERS, check
from checkers.contract import Contract
from checkers.verdict import Anomaly, Validity
from harness.history.history import History
from tests.unit.checkers.stories import assigned, polled, sent, told

ROOT = Path(__file__).parents[3]


def validity(name: str, history: History, contract: Contract | None = None) -> Validity:
    return check(history, contract or Contract.safe(), [name])[0].validity


def anomalies(name: str, history: History) -> tuple[Anomaly, ...]:
    return check(history, Contract.safe(), [name])[0].anomalies


GUILTY = {
    "lost-write": (sent(0, "x", (0, 1)), sent(0, "x", (1, 2)), polled(1, "x", (1, 2))),
    "duplicate": (sent(0, "x", (0, 1)), polled(1, "x", (0, 1), (1, 1))),
    "inconsistent-offsets": (sent(0, "x", (0, 1)), polled(1, "x", (0, 2))),
    "G1a": (sent(0, "x", (None, 1), outcome="fail"), polled(1, "x", (0, 1))),
    "nonmonotonic-poll": (
        sent(0, "x", (0, 1), (1, 2)),
        polled(1, "x", (0, 1), (1, 2)),
        polled(1, "x", (1, 2)),
    ),
}
INNOCENT = {
    # Beyond the last record that anybody read a record is only late.
    "lost-write": (sent(0, "x", (0, 1)), sent(0, "x", (1, 2)), polled(1, "x", (0, 1))),
    # The same value in another log is another record.
    "duplicate": (sent(0, "x", (0, 1)), sent(0, "y", (3, 1)), polled(1, "x", (0, 1))),
    # Not even a client knows whether this one took effect, and nobody saw it.
    "inconsistent-offsets": (sent(0, "x", (0, 1), outcome="info"), polled(1, "x", (0, 2))),
    "G1a": (sent(0, "x", (None, 1), outcome="info"), polled(1, "x", (0, 1))),
    "nonmonotonic-poll": (
        sent(0, "x", (0, 1), (1, 2)),
        polled(1, "x", (0, 1), (1, 2)),
        assigned(1, ["y"]),
        assigned(1, ["x"]),
        polled(1, "x", (1, 2)),
    ),
}


@pytest.mark.parametrize("name", GUILTY)
def test_the_guilty_are_found(name: str) -> None:
    assert validity(name, told(*GUILTY[name])) is Validity.INVALID


@pytest.mark.parametrize("name", INNOCENT)
def test_the_innocent_neighbour_is_spared(name: str) -> None:
    assert validity(name, told(*INNOCENT[name])) is Validity.VALID


@pytest.mark.parametrize("name", CHECKERS)
def test_a_checker_that_saw_nothing_says_so(name: str) -> None:
    (verdict,) = check(told(assigned(0, ["x"])), Contract.safe(), [name])
    assert verdict.validity is Validity.UNKNOWN
    assert verdict.why


@pytest.mark.parametrize("name", CHECKERS)
def test_an_empty_history_proves_nothing(name: str) -> None:
    assert validity(name, History.of([])) is Validity.UNKNOWN


@pytest.mark.parametrize("name", GUILTY)
def test_nothing_that_is_not_clients_counts(name: str) -> None:
    history = told(*((-1, *rest) for _, *rest in GUILTY[name]))
    assert validity(name, history) is Validity.UNKNOWN


def test_a_loss_is_told_with_who_was_told_and_who_read_past_it() -> None:
    (loss,) = anomalies("lost-write", told(*GUILTY["lost-write"]))
    assert loss.ops == (1, 5)
    assert loss.because == (
        "process 0 (op 1) was told that 1 is at offset 0 of x; process 1 (op 5) read x as far as "
        "offset 1; no poll ever returned it"
    )
    assert loss.witness["key"] == "x"
    assert loss.witness["max-read-index"] == 1


def test_what_a_failed_poll_showed_is_an_aborted_read_too() -> None:
    history = told(sent(0, "x", (None, 1), outcome="fail"), polled(1, "x", (0, 1), outcome="fail"))
    assert validity("G1a", history) is Validity.INVALID


def test_a_value_of_an_unknown_send_that_was_seen_vouches_for_its_whole_transaction() -> None:
    sends = [["send", "x", [0, 1]], ["send", "y", [0, 2]]]
    history = told(
        (0, "info", "txn", sends),
        sent(1, "y", (1, 3)),
        polled(2, "x", (0, 1)),
        polled(2, "y", (1, 3)),
    )
    (loss,) = anomalies("lost-write", history)
    assert loss.witness["value"] == 2


@pytest.mark.parametrize(("low", "expected"), [(0, Validity.INVALID), (1, Validity.UNKNOWN)])
def test_what_may_have_been_deleted_is_not_called_lost(low: int, expected: Validity) -> None:
    history = told(
        *GUILTY["lost-write"][:1],
        polled(1, "x", (5, 9)),
        (2, "ok", "end-offsets", {"low": {"x": low}}),
    )
    assert validity("lost-write", history) is expected


def test_offsets_far_apart_are_no_trouble() -> None:
    far = 1 << 60
    history = told(sent(0, "x", (3, 1)), sent(0, "x", (far, 2)), polled(1, "x", (far, 2)))
    (loss,) = anomalies("lost-write", history)
    assert loss.witness["offset"] == 3


def test_values_of_ours_and_of_others_are_both_values() -> None:
    ours = 7 << 32 | 41
    history = told(
        sent(0, "x", (0, ours)), sent(0, "x", (1, {"torn": True})), polled(1, "x", (1, ours))
    )
    (clash,) = anomalies("inconsistent-offsets", history)
    assert clash.witness["values"] == [ours, {"torn": True}]
    assert "number 41 of producer 7" in clash.because


def test_a_position_that_was_set_is_no_going_back() -> None:
    history = told(
        polled(1, "x", (0, 1), (1, 2)), assigned(1, {"x": 0}), polled(1, "x", (0, 1), (1, 2))
    )
    assert validity("nonmonotonic-poll", history) is Validity.VALID


def test_every_finding_is_counted_though_a_few_are_shown() -> None:
    history = told(*(sent(0, "x", (number, 5)) for number in range(100)))
    (verdict,) = check(history, Contract.safe(), ["duplicate"])
    assert verdict.stats["count"] == 1
    history = told(*(sent(0, "x", (0, number)) for number in range(100)))
    (verdict,) = check(history, Contract.safe(), ["inconsistent-offsets"])
    (clash,) = verdict.anomalies
    assert len(clash.witness["values"]) == 64


def test_a_broken_checker_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Any) -> Any:
        raise ZeroDivisionError("by nothing")

    load = CHECKERS["duplicate"]
    monkeypatch.setitem(CHECKERS, "duplicate", type(load)("", lambda: broken))
    (verdict,) = check(told(*GUILTY["duplicate"]), Contract.safe(), ["duplicate"])
    assert verdict.validity is Validity.UNKNOWN
    assert "ZeroDivisionError: by nothing" in verdict.why


def test_the_same_history_gives_the_same_words_at_any_hash_seed() -> None:
    script = (
        "from checkers import check, CHECKERS; from checkers.contract import Contract\n"
        "from tests.unit.checkers.test_registry import GUILTY; from tests.unit.checkers.stories "
        "import told\n"
        "print([check(told(*ops), Contract(), list(CHECKERS)) for ops in GUILTY.values()])"
    )
    shown = {
        subprocess.run(
            [sys.executable, "-c", script],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(shown) == 1
