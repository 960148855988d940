"""The smaller history: some records of a history, with every mention of them, and all else.

It is judged by the same functions. Ranks, which findings tell, count the records that are gone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from checkers.arrays import Bools, Ints64
from checkers.cuts.mentions import Mentions
from checkers.cuts.slots import Range


def is_kept(mentions: Mentions, values: Ints64) -> Bools:
    """Which elements of a part belong to the smaller history; `values` rise."""
    at = np.minimum(np.searchsorted(values, mentions.value), max(0, values.size - 1))
    is_asked = (
        values[at] == mentions.value if values.size else np.zeros(mentions.row.size, np.bool_)
    )
    kept: Bools = mentions.is_other | mentions.is_odd
    kept |= mentions.is_named & is_asked
    return kept


@dataclass(frozen=True, slots=True)
class Gone:
    """The dull records of all logs: by key the first offset, and from there whether it is dull."""

    first: dict[int, int]
    dull: dict[int, Bools]

    @classmethod
    def of(cls, ranges: list[Range], width: int) -> Gone:
        first: dict[int, int] = {}
        parts: dict[int, dict[int, Bools]] = {}
        for each in ranges:
            parts.setdefault(each.key, {})[each.number] = each.dull
        dull = {}
        for key, mine in parts.items():
            least, most = min(mine), max(mine)
            first[key] = least * width
            blank = np.zeros(width, np.bool_)
            dull[key] = np.concatenate([mine.get(at, blank) for at in range(least, most + 1)])
        return cls(first, dull)

    def below(self, key: int, offsets: Ints64, kept: Ints64) -> Ints64:
        """How many records are gone below each of these offsets; `kept`: offsets of the key that
        are in the smaller history, dull or not."""
        if key not in self.dull:
            return np.zeros(offsets.size, np.int64)
        base, dull = self.first[key], self.dull[key].copy()
        inside = kept[(kept >= base) & (kept < base + dull.size)]
        dull[inside - base] = False
        count = np.concatenate(([0], np.cumsum(dull)))
        return count[np.clip(offsets - base, 0, dull.size)]
