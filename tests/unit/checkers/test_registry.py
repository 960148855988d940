"""Each checker finds the guilty, spares its neighbour, and knows when it saw nothing."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checkers import all_checkers, check, registry
from checkers.checker import Checker
from checkers.contract import Contract
from checkers.findings import Findings
from checkers.verdict import Anomaly, Validity, Verdict
from harness.history.history import History
from tests.unit.checkers.guilty import ASKED, GUILTY, INNOCENT
from tests.unit.checkers.stories import assigned, polled, sent, told

ROOT = Path(__file__).parents[3]


def validity(name: str, history: History, contract: Contract | None = None) -> Validity:
    asked = contract or ASKED.get(name, Contract.safe())
    return check(history, asked, [name])[0].validity


def anomalies(name: str, history: History) -> tuple[Anomaly, ...]:
    return check(history, Contract.safe(), [name])[0].anomalies


BY_MORE_THAN_A_HISTORY = {"availability", "segments"}
"""Their guilty and innocent are in test_availability.py and segments/test_compare.py."""
ALLOWED = {"int-send-skip"}
"""What is found, and what no configuration forbids."""


def verdict_of(name: str, history: History) -> Verdict:
    return check(history, ASKED.get(name, Contract.safe()), [name])[0]


@pytest.mark.parametrize("name", GUILTY)
def test_the_guilty_are_found(name: str) -> None:
    verdict = verdict_of(name, told(*GUILTY[name]))
    assert verdict.validity is (Validity.VALID if name in ALLOWED else Validity.INVALID)
    assert verdict.anomalies or verdict.allowed


@pytest.mark.parametrize("name", INNOCENT)
def test_the_innocent_neighbour_is_spared(name: str) -> None:
    verdict = verdict_of(name, told(*INNOCENT[name]))
    assert verdict.validity is Validity.VALID
    assert not verdict.allowed


@pytest.mark.parametrize("name", all_checkers())
def test_a_checker_that_saw_nothing_says_so(name: str) -> None:
    asked = ASKED.get(name, Contract.safe())
    (verdict,) = check(told(assigned(0, ["x"])), asked, [name])
    assert verdict.validity is Validity.UNKNOWN
    assert verdict.why


@pytest.mark.parametrize("name", all_checkers())
def test_an_empty_history_proves_nothing(name: str) -> None:
    assert validity(name, History.of([])) is Validity.UNKNOWN


@pytest.mark.parametrize("name", GUILTY)
def test_nothing_that_is_not_clients_counts(name: str) -> None:
    history = told(*((-1, *rest) for _, *rest in GUILTY[name]))
    assert validity(name, history) is Validity.UNKNOWN


def test_every_checker_has_its_guilty_and_its_innocent() -> None:
    """Beside them the vacuous, which are asked of the registry itself."""
    assert GUILTY.keys() == INNOCENT.keys() == all_checkers().keys() - BY_MORE_THAN_A_HISTORY


def test_records_of_others_between_ones_own_are_found_and_allowed() -> None:
    history = told(sent(1, "x", (1, 7)), sent(0, "x", (0, 1), (2, 2)))
    (verdict,) = check(history, Contract.safe(), ["int-send-skip"])
    assert verdict.validity is Validity.VALID
    assert [anomaly.type for anomaly in verdict.allowed] == ["int-send-skip"]


def test_a_loss_is_told_with_who_was_told_and_who_read_past_it() -> None:
    (loss,) = anomalies("lost-write", told(*GUILTY["lost-write"]))
    assert loss.ops == (1, 5)
    assert loss.because == (
        "process 0 (op 1) sent 1, acknowledged at offset 0 of x; process 1 (op 5) read x up to "
        "offset 1; no poll returned the record"
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
    assert "7:41" in clash.because


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
    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("by nothing")

    blunt = replace(all_checkers()["duplicate"], look=broken)
    monkeypatch.setattr(registry, "all_checkers", lambda: {"duplicate": blunt})
    (verdict,) = check(told(*GUILTY["duplicate"]), Contract.safe(), ["duplicate"])
    assert verdict.validity is Validity.UNKNOWN
    assert "ZeroDivisionError: by nothing" in verdict.why


def test_the_same_history_gives_the_same_words_at_any_hash_seed() -> None:
    script = (
        "from checkers import check, all_checkers; from checkers.contract import Contract\n"
        "from tests.unit.checkers.guilty import GUILTY; from tests.unit.checkers.stories "
        "import told\n"
        "print([check(told(*ops), Contract(), list(all_checkers())) for ops in GUILTY.values()])"
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


def nothing_at_all(*_: object) -> Any:
    return None


def exits(*_: object) -> Any:
    raise SystemExit(0)


@pytest.mark.parametrize(
    ("look", "said"),
    [
        (nothing_at_all, "it returned None instead of Findings"),
        (exits, "SystemExit: 0"),
        (lambda *_: Findings(count=-3, looked_at=1), "count=-3, which is no count"),
        (lambda *_: Findings(looked_at="many"), "looked_at='many', which is no count"),  # type: ignore[arg-type]
        (lambda *_: Findings(count=5, looked_at=5), "it counts 5 and shows 0"),
        (lambda *_: Findings(found=("lost",), count=1, looked_at=5), "is no Finding"),  # type: ignore[arg-type]
    ],
)
def test_findings_that_are_none_clear_nobody(
    look: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkers = {**all_checkers(), "odd": Checker(name="odd", about="Odd.", look=look, rows=())}
    monkeypatch.setattr(registry, "all_checkers", lambda: checkers)
    (verdict,) = check(told(sent(0, "x", (0, 1))), Contract.safe(), ["odd"])
    assert verdict.validity is Validity.UNKNOWN
    assert said in verdict.why
