"""Which acknowledged records a partition lost, and by which change of leader, from the history.

An offset is one record's for ever. So of the records that were acknowledged at one offset all but
the last are gone; and where everything was read back, so is a record whose offset no poll returned.

A record is lost by a change of leader whose new leader does not have it. That is not always the
next change: a leader that is cut off goes on acknowledging for seconds after its successor was
elected. So the change is one whose old leader was struck by a fault then, the next one before the
last one. And a log has no holes: the record at offset 7 was appended behind that log's record at
offset 6, so if 6 is gone by a change of leader, 7 is gone by the same one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.history.schema import OK
from reports.calls import RECORD, SENT, Calls, Ints
from reports.causes import Loss
from reports.faults import Band
from reports.leading import Change, log_of

_NEVER = np.iinfo(np.int64).max
_NO_CHANGE = -1


@dataclass(frozen=True, slots=True)
class Acknowledgements:
    """Of one partition: which offsets were acknowledged, and when, in the order of time."""

    offset: Ints
    time_ns: Ints


@dataclass(frozen=True, slots=True)
class LostRecords:
    """The acknowledged records of one partition that are gone."""

    changes: Sequence[Change]
    offset: Ints
    time_ns: Ints
    """When each was acknowledged."""
    of_change: Ints
    """The change of leader that lost it, by number; -1 if there was none."""
    is_all: bool
    """Whether these are as many as a checker has counted."""

    def change_of(self, low: int, high: int, acknowledged_ns: int) -> Change | None:
        """The change that lost the first of these offsets, or else what was acknowledged then."""
        own = np.flatnonzero((self.offset >= low) & (self.offset <= high) & (low >= 0))
        if not len(own):
            own = np.flatnonzero(self.time_ns == acknowledged_ns)
        if not len(own):
            return None
        number = int(self.of_change[own[np.argmin(self.time_ns[own])]])
        return None if number == _NO_CHANGE else self.changes[number]

    def by_change(self) -> list[Loss]:
        found = []
        for number, change in enumerate(self.changes):
            offsets = self.offset[self.of_change == number]
            if len(offsets):
                low, high = int(offsets.min()), int(offsets.max())
                found.append(Loss(change, len(offsets), low, high, self.is_all))
        return found


def lost_records(
    calls: Calls, key: str, changes: Sequence[Change], bands: Sequence[Band], unseen: int
) -> LostRecords:
    """`unseen`: how many acknowledged records were never polled, by a checker; -1 if none counted.

    What no poll returned counts only if that agrees with the checker, because not every run polls
    everything.
    """
    acked = acknowledgements(calls, key)
    lost, until_ns = _replaced(acked)
    never_read = _never_read(calls, key, acked, lost)
    is_all = len(lost) == unseen
    if not is_all and len(lost) + len(never_read) == unseen:
        is_all = True
        lost = np.concatenate([lost, never_read])
        until_ns = np.concatenate([until_ns, np.full(len(never_read), _NEVER)])
    by_time = _by_time(acked.time_ns[lost], until_ns, changes, bands)
    of_change = _followed(acked, lost, by_time)
    return LostRecords(changes, acked.offset[lost], acked.time_ns[lost], of_change, is_all)


def acknowledgements(calls: Calls, key: str) -> Acknowledgements:
    """`key`: of the partition."""
    elements = calls.elements
    # Step by step: a run may have many millions of elements, and a partition few of them.
    own = np.flatnonzero(np.isin(elements.key, _numbers(calls, key)))
    own = own[np.isin(elements.kind[own], SENT)]
    own = own[calls.rows.type[elements.row[own]] == OK]
    own = own[elements.offset[own] >= 0]
    return Acknowledgements(
        elements.offset[own].astype(np.int64), calls.rows.time_ns[elements.row[own]]
    )


def change_of(
    changes: Sequence[Change], bands: Sequence[Band], since_ns: int, until_ns: int = _NEVER
) -> Change | None:
    """The change of leader that lost what was acknowledged at `since_ns`; None if there was none.

    At `until_ns` another record was acknowledged in its place, so no later change is the one.
    """
    (number,) = _by_time(np.array([since_ns]), np.array([until_ns]), changes, bands).tolist()
    return None if number == _NO_CHANGE else changes[number]


def _by_time(
    since_ns: Ints, until_ns: Ints, changes: Sequence[Change], bands: Sequence[Band]
) -> Ints:
    """For each record the number of a change: the next one, or the last one, if a fault struck its
    old leader when the record was acknowledged or later; or else whichever there is."""
    times_ns = np.array([each.time_ns for each in changes], np.int64)
    struck_until_ns = np.array([*(_struck_until(each, bands) for each in changes), _NO_CHANGE])
    next_ = np.searchsorted(times_ns, since_ns)
    known = np.searchsorted(times_ns, until_ns, side="right")
    has_next = next_ < known
    last = np.minimum(next_, known) - 1
    is_next = has_next & (struck_until_ns[np.where(has_next, next_, -1)] >= since_ns)
    is_last = (last >= 0) & (struck_until_ns[last] >= since_ns)
    # Of no changes at all `known` is 0, and -1 stands for none.
    either = np.where(has_next, next_, known - 1)
    return np.where(is_next, next_, np.where(is_last, last, either))


def _struck_until(change: Change, bands: Sequence[Band]) -> int:
    """When the last fault ended that struck the old leader before it was replaced."""
    own = (each for each in bands if each.begin_ns <= change.time_ns)
    return max((each.end_ns for each in own if each.strikes(change.before.node)), default=-1)


def _replaced(acked: Acknowledgements) -> tuple[Ints, Ints]:
    """The acknowledgements whose offset was acknowledged again, and when it was."""
    order = np.argsort(acked.offset, kind="stable")
    is_again = acked.offset[order[1:]] == acked.offset[order[:-1]]
    return order[:-1][is_again], acked.time_ns[order[1:][is_again]]


def _never_read(calls: Calls, key: str, acked: Acknowledgements, lost: Ints) -> Ints:
    """The other acknowledgements whose offset no poll returned."""
    elements = calls.elements
    own = np.isin(elements.key, _numbers(calls, key)) & (elements.kind == RECORD)
    is_left: npt.NDArray[np.bool_] = ~np.isin(acked.offset, elements.offset[own])
    is_left[lost] = False
    return np.flatnonzero(is_left)


def _followed(acked: Acknowledgements, lost: Ints, by_time: Ints) -> Ints:
    """The change of each lost record: the one of the record before it in the same log, if lost.

    Of several records that were acknowledged at the offset before, the one of the same log is the
    nearest in time.
    """
    change_of_ack = dict(zip(lost.tolist(), by_time.tolist(), strict=True))
    order = np.argsort(acked.offset, kind="stable")
    offsets, times_ns = acked.offset[order], acked.time_ns[order]
    for ack in lost[np.argsort(acked.offset[lost], kind="stable")].tolist():
        before = int(acked.offset[ack]) - 1
        first, last = np.searchsorted(offsets, (before, before + 1)).tolist()
        if first < last:
            nearest = first + int(np.argmin(np.abs(times_ns[first:last] - acked.time_ns[ack])))
            change = change_of_ack.get(int(order[nearest]))
            change_of_ack[ack] = change_of_ack[ack] if change is None else change
    return np.array([change_of_ack[ack] for ack in lost.tolist()], np.int64)


def _numbers(calls: Calls, key: str) -> list[int]:
    """The history's keys in this partition, by number: one, or one for each register."""
    return [number for number, each in enumerate(calls.history.keys) if log_of(str(each)) == key]
