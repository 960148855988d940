"""What a torn history proves: what was seen was seen, but what was not seen may have been cut."""

from __future__ import annotations

from dataclasses import replace

from checkers.checker import Need
from checkers.registry import all_checkers
from checkers.verdict import Validity, Verdict

TORN = "torn"
"""The statistic that says so."""
SAID = (
    "the history is torn: its recorder did not finish, or its files were cut; the "
    "readable part is judged"
)
_WHY = "the history is torn, so a record that seems unread may have been read later"
_ELSEWHERE = frozenset({"lost", "phantom-record"})
"""Anomalies of models and of segments that later rows may explain: a late read, a late send."""


def of_torn(verdict: Verdict) -> Verdict:
    """The same without anomalies that need the end of the history; never better than unknown."""
    needs_the_end = _ELSEWHERE | {
        name for name, checker in all_checkers().items() if Need.READ_BACK in checker.needs
    }
    left = replace(
        verdict,
        found=tuple(each for each in verdict.found if each.type not in needs_the_end),
        stats={**verdict.stats, TORN: True},
    )
    if left.anomalies:
        return left
    return replace(left, validity=Validity.UNKNOWN, why=verdict.why or _WHY)
