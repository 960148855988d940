"""Values that were sent more than once, found without a shuffle of all values.

Clients number what they send, so the values of a producer in one part of a history lie in an
interval of their own. Values must be compared only where intervals of several parts overlap.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from checkers.arrays import Bools, Ints64
from checkers.cuts.mentions import SEND, Mentions


@dataclass(frozen=True, slots=True)
class Sent:
    """The values that one part sends."""

    low: Ints64
    """By producer, the smallest value that it sends in the part; `high` has the largest."""
    high: Ints64
    twice: Ints64
    """Values that the part sends more than once."""


@dataclass(frozen=True, slots=True)
class Overlaps:
    """Intervals in which several parts have values; disjoint and sorted."""

    low: Ints64
    high: Ints64

    def holds(self, values: Ints64) -> Bools:
        if not self.low.size:
            return np.zeros(values.size, np.bool_)
        at = np.searchsorted(self.low, values, side="right") - 1
        held: Bools = (at >= 0) & (values <= self.high[np.maximum(at, 0)])
        return held


def sent_values(mentions: Mentions) -> Ints64:
    sent: Ints64 = mentions.value[(mentions.role == SEND) & mentions.is_int]
    return sent


def summarise(values: Ints64) -> Sent:
    unique, counts = np.unique(values, return_counts=True)
    starts = np.flatnonzero(np.append(True, (unique[1:] >> 32) != (unique[:-1] >> 32)))
    starts = starts[: unique.size]
    ends = np.append(starts[1:], unique.size) - 1
    return Sent(unique[starts], unique[ends[: starts.size]], unique[counts > 1])


def overlaps(parts: Iterable[Sent]) -> Overlaps:
    several = list(parts)
    low = np.concatenate([each.low for each in several] or [np.empty(0, np.int64)])
    high = np.concatenate([each.high for each in several] or [np.empty(0, np.int64)])
    order = np.lexsort((high, low))
    low, high = low[order], high[order]
    reach = np.maximum.accumulate(high)
    found: list[tuple[int, int]] = []
    for at in np.flatnonzero(low[1:] <= reach[:-1]).tolist():
        lowest, highest = int(low[at + 1]), int(min(reach[at], high[at + 1]))
        if found and lowest <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], highest))
        else:
            found.append((lowest, highest))
    pairs = np.array(found, np.int64).reshape(-1, 2)
    return Overlaps(pairs[:, 0], pairs[:, 1])


def sent_twice(values: Ints64) -> Ints64:
    """Values that occur more than once; `values` are all values in overlaps."""
    unique, counts = np.unique(values, return_counts=True)
    return unique[counts > 1]
