"""Offsets that nobody can have filled in time: the last part of Theorem 6 of the linearizable log.

Where every offset is some send's, an offset that no known record has must be that of a send whose
place nobody learnt: of unknown outcome, or acknowledged without an offset. Such a send can be at an
offset if it began before anything at or above that offset ended, and ended, if it did, after all
below it had begun. Both limits only rise along a log, so the offsets that a send can be at are
neighbours, and giving each offset, in turn, the send that must be placed soonest fills as many as
can be filled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from checkers.columns import FAIL, OK
from checkers.findings import SHOWN, Finding, Findings
from checkers.log.facts import POLL, SEND, LogFacts
from checkers.log.words import key_text, who
from harness.history import kinds

_NEVER = 1 << 62
_PART = {"minimal": False}
"""A witness names one operation; what convicts it is how many others there are."""


@dataclass(frozen=True, slots=True)
class _Claim:
    """Something at a known offset: it needs all below it to have begun before it ended."""

    offset: int
    ret: int
    row: int


@dataclass(frozen=True, slots=True)
class _Filler:
    call: int
    ret: int


class _Log:
    def __init__(self) -> None:
        self.records: dict[int, int] = {}
        """Offsets in use, and when what is there was begun."""
        self.claims: list[_Claim] = []
        self.ends: list[tuple[int, int]] = []
        """Where the log was told to end, and when that was asked: above it all is later."""
        self.fillers: list[_Filler] = []


def unfilled_offsets(facts: LogFacts) -> Findings:
    """One finding for each key: its first offset for which no send is left."""
    found: list[Finding] = []
    looked_at = 0
    for key, log in sorted(_logs(facts).items()):
        looked_at += len(log.records)
        gap = _first_unfilled(log)
        # Without a gap that stays open, there are no more gaps than sends to fill them with; with
        # one there may be more than can be walked through.
        stray = None if gap is not None else _first_unplaced(log)
        if gap is not None:
            found.append(_unfilled(facts, key, log, *gap))
        elif stray is not None:
            found.append(_unplaced(facts, key, stray))
    return Findings(
        found=tuple(found[:SHOWN]),
        count=len(found),
        looked_at=looked_at,
        nothing="no record's offset is known",
    )


def _logs(facts: LogFacts) -> dict[int, _Log]:
    columns, elements = facts.columns, facts.columns.elements
    logs = {key: _Log() for key in range(facts.key_count)}
    for row in np.flatnonzero(columns.outcome > 0).tolist():
        outcome, call = int(columns.outcome[row]), int(columns.call[row])
        for element in range(int(facts.begin[row]), int(facts.end[row])):
            number, offset = int(facts.number[element]), int(elements.offset[element])
            kind, role = int(elements.kind[element]), int(facts.role_at(element))
            if elements.key[element] < 0:
                continue
            log = logs[int(elements.key[element])]
            if kind == kinds.HIGH and outcome == OK and offset >= 0:
                log.claims.append(_Claim(offset - 1, row, row))
                log.ends.append((offset, call))
            elif role == POLL and number >= 0 and offset >= 0 and columns.ops.type[row] != 0:
                log.records.setdefault(offset, -1)
                log.claims.append(_Claim(offset, row, row))
            elif role == SEND and number >= 0 and outcome != FAIL:
                ret = row if outcome == OK else _NEVER
                place = _place(facts, row, element, number)
                if place < 0:
                    log.fillers.append(_Filler(call, ret))
                else:
                    log.records[place] = max(call, log.records.get(place, -1))
                    log.claims.append(_Claim(place, ret, row))
    return logs


def _place(facts: LogFacts, row: int, element: int, number: int) -> int:
    """The offset of a record that was sent, as its producer was told or as it was polled."""
    if facts.committed[row] and facts.columns.elements.offset[element] >= 0:
        return int(facts.columns.elements.offset[element])
    last = int(facts.values.last[number])
    return facts.offset_at(last, int(facts.values.key[number])) if last >= 0 else -1


def _gaps(log: _Log) -> Iterator[int]:
    """Offsets below the last known one that nothing known has, from the least. There may be more of
    them than can be counted, so whoever asks stops in time."""
    last = max((claim.offset for claim in log.claims), default=-1)
    before = -1
    for offset in [*sorted(at for at in log.records if at <= last), last + 1]:
        yield from range(before + 1, offset)
        before = offset


class _Limits:
    """Along rising offsets: by when what is there must have begun, and what must end after what."""

    def __init__(self, log: _Log) -> None:
        self._deadlines = _deadlines(log)
        # Records that are there, and questions for the end that were told of a lower one.
        self._begun = sorted([*log.records.items(), *log.ends])
        self._passed = 0
        self.latest = -1

    def at(self, offset: int) -> _Claim:
        """What needs this offset first."""
        while self._deadlines[0].offset < offset:
            self._deadlines.pop(0)
        while self._passed < len(self._begun) and self._begun[self._passed][0] <= offset:
            self.latest = max(self.latest, self._begun[self._passed][1])
            self._passed += 1
        return self._deadlines[0]


def _first_unfilled(log: _Log) -> tuple[int, int, _Claim] | None:
    """The offset, how many before it were filled, and what needs it."""
    limits = _Limits(log)
    waiting = sorted(log.fillers, key=lambda one: one.call)
    ready: list[tuple[int, int]] = []
    taken = 0
    for filled, gap in enumerate(_gaps(log)):
        needs = limits.at(gap)
        while taken < len(waiting) and waiting[taken].call < needs.ret:
            heappush(ready, (waiting[taken].ret, taken))
            taken += 1
        while ready and ready[0][0] <= limits.latest:
            heappop(ready)
        if not ready:
            return gap, filled, needs
        heappop(ready)
    return None


def _first_unplaced(log: _Log) -> _Filler | None:
    """An acknowledged send that has no place, neither among the gaps nor after all that is known.

    If all gaps can be filled, and all such sends be placed, both can be had at once.
    """
    begun = max([*log.records.values(), *(call for _, call in log.ends)], default=-1)
    waiting = sorted((one for one in log.fillers if one.ret <= begun), key=lambda one: one.call)
    limits = _Limits(log)
    ready: list[tuple[int, int]] = []
    taken = 0
    for gap in _gaps(log) if waiting else ():
        needs = limits.at(gap)
        while taken < len(waiting) and waiting[taken].call < needs.ret:
            heappush(ready, (waiting[taken].ret, taken))
            taken += 1
        if ready and ready[0][0] <= limits.latest:
            break
        if ready:
            heappop(ready)
        elif taken == len(waiting):
            return None
    return waiting[heappop(ready)[1]] if ready else waiting[taken] if taken < len(waiting) else None


def _deadlines(log: _Log) -> list[_Claim]:
    """For rising offsets, of what is at or above them, that which ended first."""
    best: list[_Claim] = []
    for claim in sorted(log.claims, key=lambda one: (-one.offset, one.ret)):
        if not best or claim.ret < best[-1].ret:
            best.append(claim)
    return best[::-1]


def _unfilled(
    facts: LogFacts, key: int, log: _Log, gap: int, filled: int, needs: _Claim
) -> Finding:
    columns = facts.columns
    name = key_text(facts, key)
    return Finding(
        type="nonlinearizable-log",
        ops=(columns.index_of(needs.row),),
        because=(
            f"offset {gap} of {name} cannot be explained: it was in use when "
            f"{who(facts, needs.row)} ended with offset {needs.offset}, no record is known "
            f"there, and {filled} of {len(log.fillers)} sends of unknown offset are needed "
            "for lower offsets; no other one fits"
        ),
        witness={"key": columns.key_of(key), "offset": gap, "unplaced": len(log.fillers), **_PART},
    )


def _unplaced(facts: LogFacts, key: int, stray: _Filler) -> Finding:
    columns = facts.columns
    return Finding(
        type="nonlinearizable-log",
        ops=(columns.index_of(stray.ret),),
        because=(
            f"the send of {who(facts, stray.ret)} to {key_text(facts, key)} was "
            "acknowledged, and every offset that was free then holds another record"
        ),
        witness={"key": columns.key_of(key), "offset": None, **_PART},
    )
