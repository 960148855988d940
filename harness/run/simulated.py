"""Judges the history of transactional clients of `harness sim` by the checkers of any other run."""

from __future__ import annotations

from collections.abc import Sequence

from checkers import check
from checkers.contract import Contract
from checkers.verdict import Validity
from harness.history.history import History
from harness.history.op import Op

CHECKERS = (
    "G1a",
    "duplicate",
    "exactly-once",
    "hanging-transaction",
    "inconsistent-offsets",
    "lost-write",
    "nonmonotonic-poll",
    "phantom-read",
    "precommitted-read",
    "producer-order",
    "torn-transaction",
    "two-owners",
    "watermark-regression",
)
_SHOWN_MAX = 5
"""Findings of one checker that are told."""


def judge_history(ops: Sequence[Op]) -> list[str]:
    """A sentence for each anomaly that the contract forbids."""
    contract = Contract(transactions=True, subscribe=True)
    found = []
    for verdict in check(History.of(ops), contract, CHECKERS):
        if verdict.validity is Validity.INVALID:
            found += [f"{each.type}: {each.because}" for each in verdict.anomalies[:_SHOWN_MAX]]
    return found
