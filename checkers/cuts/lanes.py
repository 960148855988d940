"""What each process did on each log, in order: where it did not go on to the next offset.

A lane is one process that sends to one log, or that polls it. A lane may continue in the next part,
so the first and the last entries of each lane are the border of a part, and `merge` compares the
borders of two parts.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

import numpy as np

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.cuts.mentions import POLL, SEND, Mentions, Stretches
from checkers.cuts.slots import Gap

CONFIRMED, SETTLED, UNCLEAR = range(3)
_SHOWN_LANES: Final = 16


@dataclass(frozen=True, slots=True)
class Entries:
    """Stretches of records and single unclear mentions, with their lanes and their order."""

    process: Ints32
    key: Ints32
    role: Ints8
    row: Ints64
    number: Ints64
    first: Ints64
    last: Ints64
    """The first and the last offset."""
    first_value: Ints64
    last_value: Ints64
    status: Ints8
    """CONFIRMED, SETTLED or UNCLEAR."""

    def select(self, chosen: Bools | Ints64 | slice) -> Entries:
        return Entries(*(getattr(self, each.name)[chosen] for each in fields(self)))

    def in_order(self) -> Entries:
        keys = (self.number, self.row, self.role, self.key, self.process)
        return self.select(np.lexsort(keys))

    def concat(self, other: Entries) -> Entries:
        return Entries(
            *(
                np.concatenate((getattr(self, each.name), getattr(other, each.name)))
                for each in fields(self)
            )
        )


@dataclass(frozen=True, slots=True)
class PartEntries:
    """The entries of a part: first its stretches, then its unclear mentions, one by one."""

    located: Mentions
    stretches: Stretches
    unclear: Mentions

    @classmethod
    def of(cls, mentions: Mentions, width: int) -> PartEntries:
        located = mentions.select(mentions.is_confirmed | mentions.is_settled)
        unclear = mentions.select(mentions.is_unclear & (mentions.key >= 0))
        return cls(located, Stretches.of(located, width), unclear)

    @property
    def entries(self) -> Entries:
        located, unclear = self.located, self.unclear
        last = self.stretches.first + self.stretches.count - 1
        one = located.select(self.stretches.first)
        stretches = _entries(one, located.select(last), one.is_settled.astype(np.int8))
        single = _entries(unclear, unclear, np.full(unclear.row.size, UNCLEAR, np.int8))
        return stretches.concat(single)

    @property
    def values(self) -> Ints64:
        """Values of the records of all entries, entry by entry."""
        return np.concatenate((self.located.value, self.unclear.value))


def _entries(first: Mentions, last: Mentions, status: Ints8) -> Entries:
    """One entry for each pair: the first and the last mention of a stretch."""
    return Entries(
        *(first.process, first.key, first.role, first.row, first.number),
        *(first.offset, last.offset, first.value, last.value, status),
    )


@dataclass(frozen=True, slots=True)
class Border:
    """The first and the last entry of each lane of a part: of all entries, and of confirmed ones.

    Checkers skip operations that failed or whose outcome is unknown, so the entries before and
    after such an operation are compared with each other, too.
    """

    first: Entries
    first_confirmed: Entries
    last_confirmed: Entries
    last: Entries


@dataclass(frozen=True, slots=True)
class Lanes:
    """The lanes of a part: values to keep, questions to ranges of offsets, and the border."""

    kept: Ints64
    gaps: tuple[Gap, ...]
    border: Border


def summarise(entries: Entries) -> Lanes:
    """Summary of entries; of each lane they have all entries between its first and its last one."""
    entries = entries.in_order()
    confirmed = entries.select(entries.status == CONFIRMED)
    compared = [_compare(each.select(slice(-1)), each.select(slice(1, None)))
                for each in (entries, confirmed)]  # fmt: skip
    ends = [_outermost(each) for each in (entries, confirmed)]
    border = Border(ends[0][0], ends[1][0], ends[1][1], ends[0][1])
    return Lanes(
        np.unique(np.concatenate([_within(confirmed), *(kept for kept, _ in compared)])),
        tuple(gap for _, gaps in compared for gap in gaps),
        border,
    )


def merge(one: Lanes, other: Lanes) -> Lanes:
    """Summary of two parts, of which `one` comes before `other` in the history."""
    left, right = one.border, other.border
    compared = [
        _compare(*_shared_lanes(left.last, right.first)),
        _compare(*_shared_lanes(left.last_confirmed, right.first_confirmed)),
    ]
    border = Border(
        _merged_by_lane(left.first, right.first),
        _merged_by_lane(left.first_confirmed, right.first_confirmed),
        _merged_by_lane(right.last_confirmed, left.last_confirmed),
        _merged_by_lane(right.last, left.last),
    )
    return Lanes(
        np.unique(np.concatenate((one.kept, other.kept, *(kept for kept, _ in compared)))),
        (*one.gaps, *other.gaps, *(gap for _, gaps in compared for gap in gaps)),
        border,
    )


def conclude(lanes: Lanes) -> Ints64:
    """Values to keep of all parts together; gaps are questions to the ranges and add more.

    The first and the last entries of some lanes are among them, because a checker that finds no two
    entries of any lane has nothing to check.
    """
    border = lanes.border
    both = _shared_lanes(border.first_confirmed, border.last_confirmed)
    several = both[0].number != both[1].number
    ends = [each.select(several) for each in both]
    chosen = np.concatenate(
        [np.flatnonzero(ends[0].role == role)[:_SHOWN_LANES] for role in (SEND, POLL)]
    )
    values = [column[chosen] for each in ends for column in (each.first_value, each.last_value)]
    return np.unique(np.concatenate((lanes.kept, *values)))


def _within(confirmed: Entries) -> Ints64:
    """Two records of one operation for each role, for checkers that compare such records."""
    several = confirmed.last > confirmed.first
    one = [np.flatnonzero(several & (confirmed.role == role))[:1] for role in (SEND, POLL)]
    chosen = np.concatenate(one)
    return np.concatenate((confirmed.first_value[chosen], confirmed.last_value[chosen]))


def _outermost(entries: Entries) -> tuple[Entries, Entries]:
    """The first and the last entry of each lane; `entries` are in order."""
    is_first = np.ones(entries.row.size, np.bool_)
    is_first[1:] = ~_same_lane(entries.select(slice(-1)), entries.select(slice(1, None)))
    return entries.select(is_first), entries.select(np.append(is_first[1:], True)[: is_first.size])


def _same_lane(one: Entries, other: Entries) -> Bools:
    same: Bools = (one.process == other.process) & (one.key == other.key) & (one.role == other.role)
    return same


def _lane_names(entries: Entries) -> Ints64:
    """A number for each lane; a history has fewer than 2^29 logs."""
    return entries.process.astype(np.int64) << 32 | entries.key << 2 | entries.role


def _shared_lanes(one: Entries, other: Entries) -> tuple[Entries, Entries]:
    """The entries of the lanes that both have, in pairs; each has one entry for a lane."""
    mine, theirs = _lane_names(one), _lane_names(other)
    _, left, right = np.intersect1d(mine, theirs, return_indices=True)
    return one.select(left), other.select(right)


def _merged_by_lane(one: Entries, other: Entries) -> Entries:
    """Entries of `one`, and those of `other` for lanes that `one` lacks; one entry for a lane."""
    mine, theirs = _lane_names(one), _lane_names(other)
    return one.concat(other.select(~np.isin(theirs, mine)))


def _compare(one: Entries, other: Entries) -> tuple[Ints64, list[Gap]]:
    """Compare pairs of entries; the second one comes next if it is of the same lane.

    Returns values to keep, and the gaps between neighbours.
    """
    same = _same_lane(one, other)
    one, other = one.select(same), other.select(same)
    step = other.first - one.last
    known = (other.first >= 0) & (one.last >= 0)
    # Records of other producers may lie between two sends, but not within one.
    is_near = (one.role == POLL) | (one.row == other.row)
    keep = (known & (step < 1)) | (one.status == UNCLEAR) | (other.status == UNCLEAR)
    kept = np.concatenate((one.last_value[keep], other.first_value[keep]))
    gaps = [
        Gap(
            int(one.key[pair]),
            int(one.last[pair]) + 1,
            int(other.first[pair]) - 1,
            (int(one.last_value[pair]), int(other.first_value[pair])),
        )
        for pair in np.flatnonzero(known & (step > 1) & is_near).tolist()
    ]
    return kept, gaps
