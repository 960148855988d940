"""What a torn history proves: what was seen was seen, but what was not seen may have been cut."""

from __future__ import annotations

from dataclasses import replace

from checkers.results import Result
from checkers.verdict import Validity

TORN = "torn"
"""The statistic that says so."""
SAID = (
    "the history is torn: its recorder did not come to its end, or its files were cut; what could "
    "be read of it is judged"
)
_WHY = "the history is torn, so what seems never to have been read may have been read later"
_NEEDS_THE_END = frozenset(
    {"unseen", "lost", "lost-append", "lost-put", "lost-change", "phantom-record"}
)
"""Anomalies that later rows may explain: a late read, or the send of a record in a segment."""


def of_torn(result: Result) -> Result:
    """The same without anomalies that need the end of the history; never better than unknown."""
    left = tuple(each for each in result.anomalies if each.type not in _NEEDS_THE_END)
    is_guilty = result.validity is Validity.INVALID and any(
        each.severity == "error" for each in left
    )
    return replace(
        result,
        anomalies=left,
        allowed=tuple(type_ for type_ in result.allowed if type_ not in _NEEDS_THE_END),
        validity=Validity.INVALID if is_guilty else Validity.UNKNOWN,
        why="" if is_guilty else result.why or _WHY,
        stats={**result.stats, TORN: True},
    )
