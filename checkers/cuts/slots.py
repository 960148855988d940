"""A range of offsets of one log: which of its records are dull, and what other ranges must know."""

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
class Told:
    """Mentions of records in one range of offsets of one log, in any order."""

    slot: Ints64
    """The offset, from the beginning of the range."""
    role: Ints8
    row: Ints64
    call: Ints64
    value: Ints64
    is_plain: Bools
    is_settled: Bools
    stamp: Ints64

    @property
    def is_placed(self) -> Bools:
        placed: Bools = self.is_plain | self.is_settled
        return placed


@dataclass(frozen=True, slots=True)
class Gap:
    """A question of lanes.py: was anything at these offsets, where a process went by?

    If so, the records on both sides are kept, and the first few in between.
    """

    key: int
    low: int
    high: int
    """Inclusive."""
    values: tuple[int, ...]
    """The records on both sides."""


@dataclass(frozen=True, slots=True)
class Ends:
    """Answers about the end of the log, or of a lower one: offsets, and the rows of the answers."""

    slot: Ints64
    """The last slot below the end, from the beginning of the range."""
    row: Ints64


@dataclass(frozen=True, slots=True)
class Latest:
    """The dull record of a range that was begun last."""

    call: int = -1
    offset: int = -1
    value: int = -1


@dataclass(frozen=True, slots=True)
class Range:
    """What one range says of itself."""

    key: int
    number: int
    kept: Ints64
    """Values that are not dull, and those that gaps asked for."""
    dull: Bools
    """By slot."""
    senders_unread: Ints64
    """Rows of operations that sent what nobody polled, or what others polled as something else."""
    latest: Latest
    first_done: int
    """The first row that ended anything about the range: nothing below may be begun after it."""
    mentioned: int
    """How many slots something was said of."""
    end: int
    """The offset behind the last of them, and behind all that answers about ends say is there."""


@dataclass(frozen=True, slots=True)
class _Slots:
    """By slot of a range, what plain mentions say."""

    sends: Ints64
    sent: Ints64
    sender: Ints64
    called: Ints64
    shown: Ints64
    """The first row that showed something there; NEVER if none did."""
    least: Ints64
    greatest: Ints64
    """Values that were shown there."""
    stamp_least: Ints64
    stamp_greatest: Ints64
    """Timestamps that were polled there; NEVER and -1 if none was."""


def summarise(
    key: int,
    number: int,
    width: int,
    told: Told,
    *,
    before: Latest = Latest(),  # noqa: B008 - immutable
    gaps: Sequence[Gap] = (),
    ends: Ends | None = None,
    append_time: bool = False,
) -> Range:
    """`before`: the latest of all lower ranges, where it is known; `append_time`: whether brokers
    stamp records, so that what producers say of timestamps does not count."""
    slots = _slots(width, told)
    mentioned = np.zeros(width, np.bool_)
    mentioned[told.slot] = True
    suspect = _unusual(slots, told, append_time=append_time) | ~mentioned
    base = number * width
    marks = np.where(suspect, NOTHING, slots.called << 32 | np.arange(width))
    latest = np.maximum.accumulate(marks)
    done = _first_done(width, told)
    kept = [slots.sent[:0]]
    is_late = mentioned & (np.maximum(latest >> 32, before.call) > done)
    # What is late is kept, and whatever it is later than.
    late_by = latest[is_late]
    kept.append(slots.sent[late_by[late_by >= 0] & _SLOT])
    if ends is not None and ends.slot.size:
        wrong = np.maximum(latest[ends.slot] >> 32, before.call) > ends.row
        late_by = latest[ends.slot[wrong]]
        kept.append(slots.sent[late_by[late_by >= 0] & _SLOT])
    dull = ~suspect & ~is_late
    kept.append(told.value[told.is_placed & ~dull[told.slot]])
    if append_time:
        kept += _steps_back(slots, dull)
    for gap in gaps:
        kept.append(_between(gap, base, mentioned, dull, slots))
    # How far the log was read, and what was begun last: a finding elsewhere may name these.
    shown = np.flatnonzero(slots.shown < NEVER)[-1:]
    kept += [slots.greatest[shown], slots.sent[latest[-1:][latest[-1:] >= 0] & _SLOT]]
    return Range(
        key=key,
        number=number,
        kept=np.unique(np.concatenate(kept)),
        dull=dull,
        senders_unread=_senders_unread(slots, told),
        latest=_latest(int(latest[-1]), base, slots),
        first_done=int(min(done.min(), NEVER if ends is None else ends.row.min(initial=NEVER))),
        mentioned=int(mentioned.sum()),
        end=base + 1 + int(max(told.slot.max(initial=-1), -1 if ends is None else
                               ends.slot.max(initial=-1))),
    )  # fmt: skip


def keys_with_gaps(ranges: Iterable[Range]) -> Ints64:
    """Of logs that have offsets of which nothing is known: any record may be there."""
    mentioned: dict[int, int] = {}
    end: dict[int, int] = {}
    for each in ranges:
        mentioned[each.key] = mentioned.get(each.key, 0) + each.mentioned
        end[each.key] = max(end.get(each.key, 0), each.end)
    return np.array([key for key, count in mentioned.items() if count < end[key]], np.int64)


def late_ranges(ranges: Iterable[Range]) -> dict[tuple[int, int], Latest]:
    """By key and number, the ranges in which something ended before what is below was begun, and
    the latest of all lower ranges. They must be summarised once more, with that as `before`."""
    found: dict[tuple[int, int], Latest] = {}
    so_far: dict[int, Latest] = {}
    for each in sorted(ranges, key=lambda one: (one.key, one.number)):
        before = so_far.get(each.key, Latest())
        if before.call > each.first_done:
            found[each.key, each.number] = before
        # Of several that were begun at once the last is the one that checkers name.
        so_far[each.key] = max(before, each.latest, key=lambda one: (one.call, one.offset))
    return found


def _slots(width: int, told: Told) -> _Slots:
    sends = np.flatnonzero(told.is_placed & (told.role == SEND))
    polls = np.flatnonzero(told.is_plain & (told.role == POLL))
    at, by = told.slot[sends], told.slot[polls]
    sent, sender, called = (np.full(width, -1, np.int64) for _ in range(3))
    sent[at], sender[at], called[at] = told.value[sends], told.row[sends], told.call[sends]
    shown, least, stamp_least = (np.full(width, NEVER, np.int64) for _ in range(3))
    greatest, stamp_greatest = (np.full(width, -NEVER, np.int64) for _ in range(2))
    np.minimum.at(shown, by, told.row[polls])
    np.minimum.at(least, by, told.value[polls])
    np.maximum.at(greatest, by, told.value[polls])
    stamps = told.stamp[polls]
    np.minimum.at(stamp_least, by, np.where(stamps > NO_STAMP, stamps, NEVER))
    np.maximum.at(stamp_greatest, by, stamps)
    return _Slots(
        np.bincount(at, minlength=width),
        *(sent, sender, called, shown, least, greatest, stamp_least, stamp_greatest),
    )


def _unusual(slots: _Slots, told: Told, *, append_time: bool) -> Bools:
    """Slots that are not: sent once, and always polled as what was sent."""
    odd: Bools = (slots.sends != 1) | (slots.least != slots.sent) | (slots.greatest != slots.sent)
    odd[told.slot[~told.is_placed]] = True
    polls = np.flatnonzero(told.is_plain & (told.role == POLL))
    own = told.row[polls] == slots.sender[told.slot[polls]]
    odd[told.slot[polls[own]]] = True
    several = (slots.stamp_greatest > NO_STAMP) & (slots.stamp_least != slots.stamp_greatest)
    odd |= several
    if not append_time:
        sends = np.flatnonzero(told.is_placed & (told.role == SEND) & (told.stamp > NO_STAMP))
        at = told.slot[sends]
        polled = slots.stamp_greatest[at]
        odd[at[(polled > NO_STAMP) & (polled != told.stamp[sends])]] = True
    return odd


def _senders_unread(slots: _Slots, told: Told) -> Ints64:
    sends = np.flatnonzero(told.is_placed & (told.role == SEND))
    at, value = told.slot[sends], told.value[sends]
    is_read = (slots.least[at] == value) & (slots.greatest[at] == value)
    return np.unique(told.row[sends[~is_read]])


def _first_done(width: int, told: Told) -> Ints64:
    """By slot the first row that ended a send that was ok, or any poll."""
    done = np.full(width, NEVER, np.int64)
    ends = (told.role == POLL) | told.is_plain
    np.minimum.at(done, told.slot[ends], told.row[ends])
    return done


def _steps_back(slots: _Slots, dull: Bools) -> list[Ints64]:
    """Neighbours with timestamps of which the second is the earlier, and both ends of the range.

    Which slots count as neighbours depends on what checkers take for unclear, so slots are compared
    with and without those that may be.
    """
    stamped = slots.stamp_greatest > NO_STAMP
    certain = stamped & (slots.least == slots.greatest)
    certain &= slots.stamp_least == slots.stamp_greatest
    found = []
    for chosen in (stamped, certain, stamped & dull):
        at = np.flatnonzero(chosen)
        stamps = slots.stamp_greatest[at]
        back = np.flatnonzero(stamps[1:] < stamps[:-1])
        found += [slots.greatest[at[each]] for each in (back, back + 1, slice(1), slice(-1, None))]
    return found


def _between(gap: Gap, base: int, mentioned: Bools, dull: Bools, slots: _Slots) -> Ints64:
    low, high = max(gap.low - base, 0), min(gap.high - base + 1, mentioned.size)
    if not mentioned[low:high].any():
        return slots.sent[:0]
    some = low + np.flatnonzero(dull[low:high])[:SHOWN]
    return np.concatenate((np.array(gap.values, np.int64), slots.sent[some]))


def _latest(mark: int, base: int, slots: _Slots) -> Latest:
    if mark < 0:
        return Latest()
    slot = mark & _SLOT
    return Latest(mark >> 32, base + slot, int(slots.sent[slot]))
