"""Sends that failed, or of which nobody knows: where their records turned up, if anywhere.

Of such an operation parts know neither where its records are nor whether there are any, so they
would have to keep it, and its neighbours. But polls say it. If each of its records was polled, and
all polls of a record saw it at one offset, it is settled: as good as if the producer had been told.
If none was polled anywhere, it is void: nothing can contradict it.

An operation of which some records were polled and others were not is neither: checkers ask why. So
is one that sends to several logs: a reader may have seen half of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from checkers.arrays import Bools, Ints32, Ints64
from checkers.columns import FAIL, INFO, OK
from checkers.cuts.mentions import POLL, SEND, Mentions

NOWHERE = -1


@dataclass(frozen=True, slots=True)
class Unsure:
    """By value that an unsure operation sent, and that is settled or void; values rise."""

    value: Ints64
    key: Ints32
    offset: Ints64
    """NOWHERE if it is void."""
    row: Ints64

    @classmethod
    def none(cls) -> Unsure:
        empty = np.empty(0, np.int64)
        return cls(empty, empty.astype(np.int32), empty, empty)

    def and_then(self, other: Unsure) -> Unsure:
        """Of other operations. No value is of two: then it would be neither settled nor void."""
        value = np.concatenate((self.value, other.value))
        order = np.argsort(value, kind="stable")
        return Unsure(
            value[order],
            np.concatenate((self.key, other.key))[order],
            np.concatenate((self.offset, other.offset))[order],
            np.concatenate((self.row, other.row))[order],
        )

    def told(self, mentions: Mentions) -> Mentions:
        """With what is known now about unsure sends."""
        about = np.flatnonzero(is_unsure(mentions) & mentions.is_int)
        if not self.value.size or not about.size:
            return mentions
        at = np.minimum(np.searchsorted(self.value, mentions.value[about]), self.value.size - 1)
        known = (self.value[at] == mentions.value[about]) & (self.row[at] == mentions.row[about])
        about, place = about[known], self.offset[at[known]]
        offset, is_settled = mentions.offset.copy(), mentions.is_settled.copy()
        is_void = mentions.is_void.copy()
        offset[about] = place
        is_settled[about], is_void[about] = place != NOWHERE, place == NOWHERE
        return replace(mentions, offset=offset, is_settled=is_settled, is_void=is_void)

    def void_of(self, keys: Ints64) -> Ints64:
        """Values of these keys that were polled nowhere: in a log with gaps they may be there."""
        found: Ints64 = self.value[(self.offset == NOWHERE) & np.isin(self.key, keys)]
        return found


def is_unsure(mentions: Mentions) -> Bools:
    is_send: Bools = (mentions.role == SEND) & np.isin(mentions.outcome, (INFO, FAIL))
    return is_send


def settle(mentions: Mentions, about: Ints64) -> Unsure:
    """`mentions`: all unsure sends, and each mention of a record with a value of theirs, once for
    every unsure operation that it is about. All about an operation come together; in any order."""
    if not mentions.row.size:
        return Unsure.none()
    own = is_unsure(mentions) & (mentions.row == about)
    group, size = _groups(np.where(mentions.is_int, mentions.value, 0), about)
    is_poll = mentions.role == POLL
    polls = np.bincount(group[is_poll], minlength=size)
    once = np.bincount(group[mentions.role == SEND], minlength=size) == 1
    is_clear = is_poll & (mentions.outcome == OK) & (mentions.offset >= 0) & mentions.is_int
    clear = np.bincount(group[is_clear], minlength=size) == polls
    key, offset = (
        _if_alike(each, group, is_poll, size) for each in (mentions.key, mentions.offset)
    )
    mine = np.flatnonzero(own)
    of = group[mine]
    usual = once[of] & mentions.is_int[mine] & (mentions.key[mine] >= 0)
    usual &= mentions.offset[mine] < 0
    is_void = usual & (polls[of] == 0)
    is_settled = usual & (polls[of] > 0) & clear[of] & (offset[of] >= 0)
    is_settled &= (key[of] == mentions.key[mine]) & (mentions.outcome[mine] == INFO)
    row = mentions.row[mine]
    whole = _in_all(row, is_void) | _in_all(row, is_settled)
    whole &= _in_all(row, mentions.key[mine] == _first_of(row, mentions.key[mine]))
    chosen, found = mine[whole], of[whole]
    order = np.argsort(mentions.value[chosen])
    chosen, found = chosen[order], found[order]
    return Unsure(
        mentions.value[chosen],
        mentions.key[chosen],
        np.where(polls[found] > 0, offset[found], NOWHERE),
        mentions.row[chosen],
    )


def _groups(value: Ints64, about: Ints64) -> tuple[Ints64, int]:
    """By pair of operation and value a number."""
    order = np.lexsort((value, about))
    is_new = np.ones(value.size, np.bool_)
    is_new[1:] = (np.diff(value[order]) != 0) | (np.diff(about[order]) != 0)
    group = np.empty(value.size, np.int64)
    group[order] = np.cumsum(is_new) - 1
    return group, int(is_new.sum())


def _if_alike(column: Ints64 | Ints32, group: Ints64, chosen: Bools, size: int) -> Ints64:
    """By group what all chosen ones have there; -1 if they differ."""
    least = np.full(size, np.iinfo(np.int64).max)
    most = np.full(size, np.int64(-1))
    np.minimum.at(least, group[chosen], column[chosen].astype(np.int64))
    np.maximum.at(most, group[chosen], column[chosen].astype(np.int64))
    return np.where(least == most, most, np.int64(-1))


def _first_of(row: Ints64, column: Ints32) -> Ints32:
    """By mention what the first one with its row has."""
    _, first, at = np.unique(row, return_index=True, return_inverse=True)
    found: Ints32 = column[first[at]]
    return found


def _in_all(row: Ints64, chosen: Bools) -> Bools:
    """Whether it is so of all with this row."""
    _, at = np.unique(row, return_inverse=True)
    size = int(at.max(initial=-1)) + 1
    every: Bools = np.bincount(at[chosen], minlength=size) == np.bincount(at, minlength=size)
    return every[at]
