"""Which records of a range of offsets of one log are removable, and what other ranges must know."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from checkers.arrays import Bools, Ints8, Ints64
from checkers.cuts.mentions import NO_STAMP, POLL, SEND
from checkers.findings import SHOWN

NEVER: Final = np.int64(1) << 62
NOTHING: Final = np.int64(-1)
_SLOT: Final = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class RangeMentions:
    """Mentions of records in one range of offsets of one log, in any order."""

    slot: Ints64
    """Offset from the beginning of the range."""
    role: Ints8
    row: Ints64
    call: Ints64
    value: Ints64
    is_confirmed: Bools
    is_settled: Bools
    stamp: Ints64

    @property
    def is_located(self) -> Bools:
        located: Bools = self.is_confirmed | self.is_settled
        return located


@dataclass(frozen=True, slots=True)
class Gap:
    """Offsets that a process skipped (lanes.py). Whether they hold records is known to the ranges.

    If they do, the records on both sides are kept, and the first few in between.
    """

    key: int
    low: int
    high: int
    """Inclusive."""
    values: tuple[int, ...]
    """The records on both sides."""


@dataclass(frozen=True, slots=True)
class Ends:
    """Answers about the end of the log whose last offset is in this range, and their rows."""

    slot: Ints64
    """Last offset below the reported end, from the beginning of the range."""
    row: Ints64


@dataclass(frozen=True, slots=True)
class Latest:
    """The record of a range, among those sent once, whose operation was begun last."""

    call: int = -1
    offset: int = -1
    value: int = -1


@dataclass(frozen=True, slots=True)
class Range:
    """Summary of one range."""

    key: int
    number: int
    kept: Ints64
    """Values of records that are not removable, and those that gaps asked for."""
    removable: Bools
    """By slot."""
    unread_senders: Ints64
    """Rows of operations with a record that was not polled, or polled with another value."""
    latest: Latest
    first_done: int
    """The first row that acknowledged or polled a record of the range, or reported an end in it:
    a lower record that was begun after it is out of order."""
    mentioned: int
    """Number of slots that any operation mentions."""
    end: int
    """End of the log as far as this range knows it, exclusive: by mentions and reported ends."""


@dataclass(frozen=True, slots=True)
class _Slots:
    """What the located mentions say of each slot of a range."""

    sends: Ints64
    sent: Ints64
    sender: Ints64
    called: Ints64
    polled: Ints64
    """The first row that polled the slot; NEVER if none did."""
    least: Ints64
    greatest: Ints64
    """The smallest and the largest value that was polled there."""
    stamp_least: Ints64
    stamp_greatest: Ints64
    """The smallest and the largest timestamp that was polled there; NEVER and -1 if none was."""


def summarise(
    key: int,
    number: int,
    width: int,
    mentions: RangeMentions,
    *,
    before: Latest = Latest(),  # noqa: B008 - immutable
    gaps: Sequence[Gap] = (),
    ends: Ends | None = None,
    append_time: bool = False,
) -> Range:
    """Summary of a range.

    `before` is the latest record of all lower ranges, if it is known. With `append_time` brokers
    set the timestamps of records, and those of producers do not count.
    """
    slots = _slots(width, mentions)
    mentioned = np.zeros(width, np.bool_)
    mentioned[mentions.slot] = True
    suspect = _suspects(slots, mentions, append_time=append_time) | ~mentioned
    base = number * width
    marks = np.where(suspect, NOTHING, slots.called << 32 | np.arange(width))
    latest = np.maximum.accumulate(marks)
    done = _first_done(width, mentions)
    kept = [slots.sent[:0]]
    is_late = mentioned & (np.maximum(latest >> 32, before.call) > done)
    # A record that was done before a lower one was begun is kept, with that lower record.
    late_by = latest[is_late]
    kept.append(slots.sent[late_by[late_by >= 0] & _SLOT])
    if ends is not None and ends.slot.size:
        wrong = np.maximum(latest[ends.slot] >> 32, before.call) > ends.row
        late_by = latest[ends.slot[wrong]]
        kept.append(slots.sent[late_by[late_by >= 0] & _SLOT])
    removable = ~suspect & ~is_late
    kept.append(mentions.value[mentions.is_located & ~removable[mentions.slot]])
    if append_time:
        kept += _steps_back(slots, removable)
    for gap in gaps:
        kept.append(_between(gap, base, mentioned, removable, slots))
    # A finding about another range may name the last record that was polled, or begun last.
    polled = np.flatnonzero(slots.polled < NEVER)[-1:]
    kept += [slots.greatest[polled], slots.sent[latest[-1:][latest[-1:] >= 0] & _SLOT]]
    return Range(
        key=key,
        number=number,
        kept=np.unique(np.concatenate(kept)),
        removable=removable,
        unread_senders=_senders_unread(slots, mentions),
        latest=_latest(int(latest[-1]), base, slots),
        first_done=int(min(done.min(), NEVER if ends is None else ends.row.min(initial=NEVER))),
        mentioned=int(mentioned.sum()),
        end=base + 1 + int(max(mentions.slot.max(initial=-1), -1 if ends is None else
                               ends.slot.max(initial=-1))),
    )  # fmt: skip


def keys_with_gaps(ranges: Iterable[Range]) -> Ints64:
    """Keys of logs with offsets that no operation mentions: any record may be there."""
    mentioned: dict[int, int] = {}
    end: dict[int, int] = {}
    for each in ranges:
        mentioned[each.key] = mentioned.get(each.key, 0) + each.mentioned
        end[each.key] = max(end.get(each.key, 0), each.end)
    return np.array([key for key, count in mentioned.items() if count < end[key]], np.int64)


def late_ranges(ranges: Iterable[Range]) -> dict[tuple[int, int], Latest]:
    """Ranges, by key and number, with a record that was done before a lower one was begun.

    Each comes with the latest record of all lower ranges, and must be summarised again with that as
    `before`.
    """
    found: dict[tuple[int, int], Latest] = {}
    so_far: dict[int, Latest] = {}
    for each in sorted(ranges, key=lambda one: (one.key, one.number)):
        before = so_far.get(each.key, Latest())
        if before.call > each.first_done:
            found[each.key, each.number] = before
        # Of several records that were begun at once checkers name the last.
        so_far[each.key] = max(before, each.latest, key=lambda one: (one.call, one.offset))
    return found


def _slots(width: int, mentions: RangeMentions) -> _Slots:
    sends = np.flatnonzero(mentions.is_located & (mentions.role == SEND))
    polls = np.flatnonzero(mentions.is_confirmed & (mentions.role == POLL))
    at, by = mentions.slot[sends], mentions.slot[polls]
    sent, sender, called = (np.full(width, -1, np.int64) for _ in range(3))
    sent[at], sender[at], called[at] = (
        mentions.value[sends],
        mentions.row[sends],
        mentions.call[sends],
    )
    polled, least, stamp_least = (np.full(width, NEVER, np.int64) for _ in range(3))
    greatest, stamp_greatest = (np.full(width, -NEVER, np.int64) for _ in range(2))
    np.minimum.at(polled, by, mentions.row[polls])
    np.minimum.at(least, by, mentions.value[polls])
    np.maximum.at(greatest, by, mentions.value[polls])
    stamps = mentions.stamp[polls]
    np.minimum.at(stamp_least, by, np.where(stamps > NO_STAMP, stamps, NEVER))
    np.maximum.at(stamp_greatest, by, stamps)
    return _Slots(
        np.bincount(at, minlength=width),
        *(sent, sender, called, polled, least, greatest, stamp_least, stamp_greatest),
    )


def _suspects(slots: _Slots, mentions: RangeMentions, *, append_time: bool) -> Bools:
    """Slots that were not sent exactly once, or that were polled with another value."""
    suspect: Bools = (
        (slots.sends != 1) | (slots.least != slots.sent) | (slots.greatest != slots.sent)
    )
    suspect[mentions.slot[~mentions.is_located]] = True
    polls = np.flatnonzero(mentions.is_confirmed & (mentions.role == POLL))
    own = mentions.row[polls] == slots.sender[mentions.slot[polls]]
    suspect[mentions.slot[polls[own]]] = True
    several = (slots.stamp_greatest > NO_STAMP) & (slots.stamp_least != slots.stamp_greatest)
    suspect |= several
    if not append_time:
        sends = np.flatnonzero(
            mentions.is_located & (mentions.role == SEND) & (mentions.stamp > NO_STAMP)
        )
        at = mentions.slot[sends]
        polled = slots.stamp_greatest[at]
        suspect[at[(polled > NO_STAMP) & (polled != mentions.stamp[sends])]] = True
    return suspect


def _senders_unread(slots: _Slots, mentions: RangeMentions) -> Ints64:
    sends = np.flatnonzero(mentions.is_located & (mentions.role == SEND))
    at, value = mentions.slot[sends], mentions.value[sends]
    is_read = (slots.least[at] == value) & (slots.greatest[at] == value)
    return np.unique(mentions.row[sends[~is_read]])


def _first_done(width: int, mentions: RangeMentions) -> Ints64:
    """By slot, the first row that ended a send that was ok, or a poll."""
    done = np.full(width, NEVER, np.int64)
    ends = (mentions.role == POLL) | mentions.is_confirmed
    np.minimum.at(done, mentions.slot[ends], mentions.row[ends])
    return done


def _steps_back(slots: _Slots, removable: Bools) -> list[Ints64]:
    """Values of neighbours of which the second has the earlier timestamp, and of both range ends.

    Checkers leave out slots with contradicting values, which are only known when all parts are
    judged. So the slots are compared with them and without them.
    """
    stamped = slots.stamp_greatest > NO_STAMP
    certain = stamped & (slots.least == slots.greatest)
    certain &= slots.stamp_least == slots.stamp_greatest
    found = []
    for chosen in (stamped, certain, stamped & removable):
        at = np.flatnonzero(chosen)
        stamps = slots.stamp_greatest[at]
        back = np.flatnonzero(stamps[1:] < stamps[:-1])
        found += [slots.greatest[at[each]] for each in (back, back + 1, slice(1), slice(-1, None))]
    return found


def _between(gap: Gap, base: int, mentioned: Bools, removable: Bools, slots: _Slots) -> Ints64:
    low, high = max(gap.low - base, 0), min(gap.high - base + 1, mentioned.size)
    if not mentioned[low:high].any():
        return slots.sent[:0]
    some = low + np.flatnonzero(removable[low:high])[:SHOWN]
    return np.concatenate((np.array(gap.values, np.int64), slots.sent[some]))


def _latest(mark: int, base: int, slots: _Slots) -> Latest:
    if mark < 0:
        return Latest()
    slot = mark & _SLOT
    return Latest(mark >> 32, base + slot, int(slots.sent[slot]))
