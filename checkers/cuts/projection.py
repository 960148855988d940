"""The smaller history: the kept records with every mention of them, and all other elements.

The same functions judge it. Findings name ranks, which count the removed records, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from checkers.arrays import Bools, Ints64
from checkers.cuts.mentions import Mentions


def is_kept(mentions: Mentions, values: Ints64) -> Bools:
    """Which elements of a part belong to the smaller history; `values` are sorted."""
    at = np.minimum(np.searchsorted(values, mentions.value), max(0, values.size - 1))
    is_asked = (
        values[at] == mentions.value if values.size else np.zeros(mentions.row.size, np.bool_)
    )
    kept: Bools = mentions.is_not_record | mentions.is_unclear
    kept |= mentions.is_named & is_asked
    return kept


@dataclass(frozen=True, slots=True)
class Gone:
    """The removable records of all logs."""

    first: dict[int, int]
    """By key, the offset at which `removable` begins."""
    removable: dict[int, Bools]

    @classmethod
    def of(cls, ranges: Mapping[tuple[int, int], Bools], width: int) -> Gone:
        """`ranges`: by key and number of the range, whether each of its slots is removable."""
        first: dict[int, int] = {}
        by_key: dict[int, dict[int, Bools]] = {}
        for (key, number), slots in ranges.items():
            by_key.setdefault(key, {})[number] = slots
        removable = {}
        for key, mine in by_key.items():
            least, most = min(mine), max(mine)
            first[key] = least * width
            blank = np.zeros(width, np.bool_)
            removable[key] = np.concatenate([mine.get(at, blank) for at in range(least, most + 1)])
        return cls(first, removable)

    def below(self, key: int, offsets: Ints64, kept: Ints64) -> Ints64:
        """Number of records that were removed below each of these offsets.

        `kept` are the offsets of the key in the smaller history; a removable record may be kept for
        the sake of another one.
        """
        if key not in self.removable:
            return np.zeros(offsets.size, np.int64)
        base, removable = self.first[key], self.removable[key].copy()
        inside = kept[(kept >= base) & (kept < base + removable.size)]
        removable[inside - base] = False
        count = np.concatenate(([0], np.cumsum(removable)))
        return count[np.clip(offsets - base, 0, removable.size)]
