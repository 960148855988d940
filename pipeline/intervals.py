"""Confidence intervals of 95 % that hold for every distribution."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, sqrt
from typing import Final, NamedTuple

RUNS_MIN: Final = 6
"""With fewer numbers no interval between two of them holds the median with 95 %."""
_Z: Final = 1.959963984540054
_EXACT_MAX: Final = 1000


class Interval(NamedTuple):
    low: float
    high: float

    def is_below(self, other: Interval) -> bool:
        """Whether the whole interval is below the other."""
        return self.high < other.low


def median_interval(ordered: Sequence[float]) -> Interval | None:
    """Interval of the median of the distribution; None for fewer than `RUNS_MIN` numbers.

    Each number is above the median with probability one half, so the k-th smallest and the k-th
    largest enclose it unless fewer than k of them are on one side.
    """
    count = len(ordered)
    if count < RUNS_MIN:
        return None
    rank = _rank(count)
    return Interval(ordered[rank], ordered[count - 1 - rank])


def _rank(count: int) -> int:
    """The largest rank, from 0, at which both sides together fail in at most 5 % of all cases."""
    if count > _EXACT_MAX:
        return int((count - _Z * sqrt(count)) / 2)
    below, rank = 0, 0
    while (below := below + comb(count, rank)) * 40 <= 1 << count:
        rank += 1
    return rank - 1


def share_interval(found: int, of: int) -> Interval:
    """Wilson's interval for the share of runs in which something was found."""
    if not of:
        return Interval(0.0, 1.0)
    share, square = found / of, _Z * _Z
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = _Z * sqrt(share * (1 - share) / of + square / (4 * of * of)) / (1 + square / of)
    return Interval(0.0 if not found else middle - half, 1.0 if found == of else middle + half)
