"""What each process did on each log, in turn: where it did not go on to the next offset.

A lane is one process that sends to, or polls, one log. A lane may go on in the next part, so the
outermost entries of each lane are a part's border, and `merge` compares the borders of two parts.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

import numpy as np

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.cuts.mentions import POLL, SEND, Mentions, Stretches
from checkers.cuts.slots import Gap

PLAIN, SETTLED, ODD = range(3)
_SHOWN_LANES: Final = 16


@dataclass(frozen=True, slots=True)
class Entries:
    """Stretches of records, or single odd mentions, each with its lane and its place there."""

    process: Ints32
    key: Ints32
    role: Ints8
    row: Ints64
    number: Ints64
    first: Ints64
    last: Ints64
    """Offsets."""
    first_value: Ints64
    last_value: Ints64
    sort: Ints8
    """PLAIN, SETTLED or ODD."""

    def some(self, chosen: Bools | Ints64 | slice) -> Entries:
        return Entries(*(getattr(self, each.name)[chosen] for each in fields(self)))

    def in_order(self) -> Entries:
        keys = (self.number, self.row, self.role, self.key, self.process)
        return self.some(np.lexsort(keys))

    def and_then(self, other: Entries) -> Entries:
        return Entries(
            *(
                np.concatenate((getattr(self, each.name), getattr(other, each.name)))
                for each in fields(self)
            )
        )


@dataclass(frozen=True, slots=True)
class Cut:
    """A part of a history as entries: first its stretches, then single odd mentions."""

    placed: Mentions
    stretches: Stretches
    odd: Mentions

    @classmethod
    def of(cls, mentions: Mentions, width: int) -> Cut:
        placed = mentions.some(mentions.is_plain | mentions.is_settled)
        odd = mentions.some(mentions.is_odd & (mentions.key >= 0))
        return cls(placed, Stretches.of(placed, width), odd)

    @property
    def entries(self) -> Entries:
        placed, odd = self.placed, self.odd
        last = self.stretches.first + self.stretches.count - 1
        one = placed.some(self.stretches.first)
        stretches = Entries(
            *(one.process, one.key, one.role, one.row, one.number, one.offset, placed.offset[last]),
            *(one.value, placed.value[last], one.is_settled.astype(np.int8)),
        )
        single = Entries(
            *(odd.process, odd.key, odd.role, odd.row, odd.number, odd.offset, odd.offset),
            *(odd.value, odd.value, np.full(odd.row.size, ODD, np.int8)),
        )
        return stretches.and_then(single)

    @property
    def values(self) -> Ints64:
        """Of the records of all entries, side by side."""
        return np.concatenate((self.placed.value, self.odd.value))


@dataclass(frozen=True, slots=True)
class Border:
    """The outermost entries of each lane of a part, one of each kind for each lane.

    Checkers pass by an operation that failed, or of which nobody knows: what is before it is
    compared with what is behind it as well.
    """

    first: Entries
    first_plain: Entries
    last_plain: Entries
    last: Entries


@dataclass(frozen=True, slots=True)
class Lanes:
    """Of a part: values to keep, questions to ranges of offsets, and its border."""

    kept: Ints64
    gaps: tuple[Gap, ...]
    border: Border


def summarise(entries: Entries) -> Lanes:
    """Of entries that belong together: all of a lane between the first and the last one."""
    entries = entries.in_order()
    plain = entries.some(entries.sort == PLAIN)
    compared = [_compare(each.some(slice(-1)), each.some(slice(1, None)))
                for each in (entries, plain)]  # fmt: skip
    ends = [_outermost(each) for each in (entries, plain)]
    border = Border(ends[0][0], ends[1][0], ends[1][1], ends[0][1])
    return Lanes(
        np.unique(np.concatenate([_within(plain), *(kept for kept, _ in compared)])),
        tuple(gap for _, gaps in compared for gap in gaps),
        border,
    )


def merge(one: Lanes, other: Lanes) -> Lanes:
    """Of two parts, the first before the second in the order of the history."""
    left, right = one.border, other.border
    compared = [
        _compare(*_meeting(left.last, right.first)),
        _compare(*_meeting(left.last_plain, right.first_plain)),
    ]
    border = Border(
        _either(left.first, right.first),
        _either(left.first_plain, right.first_plain),
        _either(right.last_plain, left.last_plain),
        _either(right.last, left.last),
    )
    return Lanes(
        np.unique(np.concatenate((one.kept, other.kept, *(kept for kept, _ in compared)))),
        (*one.gaps, *other.gaps, *(gap for _, gaps in compared for gap in gaps)),
        border,
    )


def conclude(lanes: Lanes) -> Ints64:
    """Values to keep of all parts together, before any gap is answered.

    The outermost entries of some lanes are among them: a checker that finds no two entries of any
    lane would have nothing to check.
    """
    border = lanes.border
    both = _meeting(border.first_plain, border.last_plain)
    several = both[0].number != both[1].number
    ends = [each.some(several) for each in both]
    chosen = np.concatenate(
        [np.flatnonzero(ends[0].role == role)[:_SHOWN_LANES] for role in (SEND, POLL)]
    )
    values = [column[chosen] for each in ends for column in (each.first_value, each.last_value)]
    return np.unique(np.concatenate((lanes.kept, *values)))


def _within(plain: Entries) -> Ints64:
    """Two records of one operation, if there are any: for checkers that compare such ones."""
    several = plain.last > plain.first
    one = [np.flatnonzero(several & (plain.role == role))[:1] for role in (SEND, POLL)]
    chosen = np.concatenate(one)
    return np.concatenate((plain.first_value[chosen], plain.last_value[chosen]))


def _outermost(entries: Entries) -> tuple[Entries, Entries]:
    """The first and the last entry of each lane, of entries in order."""
    is_first = np.ones(entries.row.size, np.bool_)
    is_first[1:] = ~_same_lane(entries.some(slice(-1)), entries.some(slice(1, None)))
    return entries.some(is_first), entries.some(np.append(is_first[1:], True)[: is_first.size])


def _same_lane(one: Entries, other: Entries) -> Bools:
    same: Bools = (one.process == other.process) & (one.key == other.key) & (one.role == other.role)
    return same


def _lane_names(entries: Entries) -> Ints64:
    """Lanes as numbers: a history has fewer than 2^29 logs."""
    return entries.process.astype(np.int64) << 32 | entries.key << 2 | entries.role


def _meeting(one: Entries, other: Entries) -> tuple[Entries, Entries]:
    """Of two with one entry for each lane, the entries of the lanes that both have, in pairs."""
    mine, theirs = _lane_names(one), _lane_names(other)
    _, left, right = np.intersect1d(mine, theirs, return_indices=True)
    return one.some(left), other.some(right)


def _either(one: Entries, other: Entries) -> Entries:
    """With one entry for each lane: those of `one`, and of `other` for lanes that `one` lacks."""
    mine, theirs = _lane_names(one), _lane_names(other)
    return one.and_then(other.some(~np.isin(theirs, mine)))


def _compare(one: Entries, other: Entries) -> tuple[Ints64, list[Gap]]:
    """Pairs of entries, the second of which comes next if it is of the same lane."""
    same = _same_lane(one, other)
    one, other = one.some(same), other.some(same)
    step = other.first - one.last
    known = (other.first >= 0) & (one.last >= 0)
    # Producers may leave room for others between operations, but not within one.
    is_near = (one.role == POLL) | (one.row == other.row)
    keep = (known & (step < 1)) | (one.sort == ODD) | (other.sort == ODD)
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
