"""Sends without acknowledgement, which failed or have an unknown outcome: where polls found them.

A part does not know whether the log has the records of such an operation, nor at which offsets, so
it would have to keep them and their neighbours. Polls know it. If each record was polled, always at
one offset, the operation is settled: its offsets are as certain as acknowledged ones. If no record
was polled, it is void, and nothing can contradict it.

An operation of which some records were polled and others were not is neither, because checkers
report it. So is one that sends to several logs, because a poll may have returned half of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from checkers.arrays import Bools, Ints32, Ints64
from checkers.columns import FAIL, INFO, OK
from checkers.cuts.mentions import POLL, SEND, Mentions

NOT_POLLED = -1


@dataclass(frozen=True, slots=True)
class Unacknowledged:
    """Values of settled and void operations, sorted, with what is known of each."""

    value: Ints64
    key: Ints32
    offset: Ints64
    """NOT_POLLED if the operation is void."""
    row: Ints64

    @classmethod
    def none(cls) -> Unacknowledged:
        empty = np.empty(0, np.int64)
        return cls(empty, empty.astype(np.int32), empty, empty)

    def concat(self, other: Unacknowledged) -> Unacknowledged:
        """Both together. They are of different operations and have no value in common, because a
        value of two operations is neither settled nor void."""
        value = np.concatenate((self.value, other.value))
        order = np.argsort(value, kind="stable")
        return Unacknowledged(
            value[order],
            np.concatenate((self.key, other.key))[order],
            np.concatenate((self.offset, other.offset))[order],
            np.concatenate((self.row, other.row))[order],
        )

    def applied_to(self, mentions: Mentions) -> Mentions:
        """The mentions with these offsets, and with `is_settled` and `is_void`."""
        about = np.flatnonzero(is_unacknowledged(mentions) & mentions.is_int)
        if not self.value.size or not about.size:
            return mentions
        at = np.minimum(np.searchsorted(self.value, mentions.value[about]), self.value.size - 1)
        known = (self.value[at] == mentions.value[about]) & (self.row[at] == mentions.row[about])
        about, place = about[known], self.offset[at[known]]
        offset, is_settled = mentions.offset.copy(), mentions.is_settled.copy()
        is_void = mentions.is_void.copy()
        offset[about] = place
        is_settled[about], is_void[about] = place != NOT_POLLED, place == NOT_POLLED
        return replace(mentions, offset=offset, is_settled=is_settled, is_void=is_void)

    def void_of(self, keys: Ints64) -> Ints64:
        """Values of these keys that were not polled; a log with gaps may have them."""
        found: Ints64 = self.value[(self.offset == NOT_POLLED) & np.isin(self.key, keys)]
        return found


def is_unacknowledged(mentions: Mentions) -> Bools:
    is_send: Bools = (mentions.role == SEND) & np.isin(mentions.outcome, (INFO, FAIL))
    return is_send


def settle(mentions: Mentions, about: Ints64) -> Unacknowledged:
    """Find out which unacknowledged sends are settled or void.

    `mentions` are all such sends, and each mention of a record with one of their values, once for
    each operation that sent the value. `about` is the row of that operation. All mentions about one
    operation must be there, in any order.
    """
    if not mentions.row.size:
        return Unacknowledged.none()
    own = is_unacknowledged(mentions) & (mentions.row == about)
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
    return Unacknowledged(
        mentions.value[chosen],
        mentions.key[chosen],
        np.where(polls[found] > 0, offset[found], NOT_POLLED),
        mentions.row[chosen],
    )


def _groups(value: Ints64, about: Ints64) -> tuple[Ints64, int]:
    """A number for each pair of operation and value, and how many pairs there are."""
    order = np.lexsort((value, about))
    is_new = np.ones(value.size, np.bool_)
    is_new[1:] = (np.diff(value[order]) != 0) | (np.diff(about[order]) != 0)
    group = np.empty(value.size, np.int64)
    group[order] = np.cumsum(is_new) - 1
    return group, int(is_new.sum())


def _if_alike(column: Ints64 | Ints32, group: Ints64, chosen: Bools, size: int) -> Ints64:
    """By group, the number that all chosen rows have in the column; -1 if they differ."""
    least = np.full(size, np.iinfo(np.int64).max)
    most = np.full(size, np.int64(-1))
    np.minimum.at(least, group[chosen], column[chosen].astype(np.int64))
    np.maximum.at(most, group[chosen], column[chosen].astype(np.int64))
    return np.where(least == most, most, np.int64(-1))


def _first_of(row: Ints64, column: Ints32) -> Ints32:
    """For each mention, the entry of the first mention with the same row."""
    _, first, at = np.unique(row, return_index=True, return_inverse=True)
    found: Ints32 = column[first[at]]
    return found


def _in_all(row: Ints64, chosen: Bools) -> Bools:
    """For each mention, whether all mentions with its row are chosen."""
    _, at = np.unique(row, return_inverse=True)
    size = int(at.max(initial=-1)) + 1
    every: Bools = np.bincount(at[chosen], minlength=size) == np.bincount(at, minlength=size)
    return every[at]
