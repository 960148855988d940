"""nonlinearizable-log and watermark-regression: logs against real time.

A partition is linearizable iff its contents are consistent, its polls are consecutive (both are
anomalies of their own) and no record was acknowledged, shown or counted as the log's end before
something at or below it was begun: exact for the records whose offsets are known. Whether unknown
sends fill the gaps in time is not asked, for offsets of transactions have gaps of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from checkers.arrays import Ints32, Ints64
from checkers.checker import Checker, Evidence
from checkers.clauses import LOSS, never
from checkers.columns import OK
from checkers.contract import Contract
from checkers.findings import SHOWN, Finding, Findings
from checkers.kernels import fitting, realtime
from checkers.log.facts import LogFacts
from checkers.log.gaps import unfilled_offsets
from checkers.log.words import key_text, of_number, value_text, who
from harness.history import kinds

_TOLD = {
    kinds.LOW: "low watermark",
    kinds.HIGH: "high watermark",
    kinds.STABLE: "last stable offset",
}


_NOTHING = "no record's offset is known"


@dataclass(frozen=True, slots=True)
class _Ends:
    """Questions for the end of a log that were answered."""

    row: Ints64
    element: Ints64
    slot: Ints64
    """The first at or after the end; -1 if no record is known there."""
    below: Ints64
    """The last before it; -1 if there is none."""


def nonlinearizable_logs(facts: LogFacts, *, exact_ends: bool = False) -> Findings:
    """With `exact_ends` an end also says that nothing was there yet: see the contract."""
    columns, slots = facts.columns, facts.slots
    call = facts.called
    ends = _ends(facts)
    acked, late_keys = facts.in_time
    chosen = late_keys.copy()
    chosen[columns.elements.key[ends.element]] = True
    if not chosen.any():
        return Findings(looked_at=acked + facts.placed, nothing=_NOTHING)
    latest = np.empty(slots.held.size, np.int32)
    whose = np.empty(slots.held.size, np.int32)
    values = facts.values
    contents = (slots.held, slots.clash, values.first, values.last, values.writer)
    logs = (chosen, slots.start, *contents)
    bounds = (ends.slot if exact_ends else ends.slot[:0], call[ends.row])
    work = int(np.diff(slots.start)[chosen].sum())
    fitting(realtime.called_before, work)(*logs, call, *bounds, latest, whose)
    about, (late, early) = facts.rows_about(np.flatnonzero(chosen)), np.empty((2, SHOWN), np.int64)
    late_count = fitting(realtime.late_appends, work)(*logs, columns.outcome, latest, late)
    given = (columns.ops.type, facts.begin, facts.end, facts.cells, facts.shift, slots.held, latest)
    early_reads = fitting(realtime.early_reads, facts.work_in(about))
    early_count = early_reads(about, chosen, *given, early)
    asked = np.flatnonzero(ends.below >= 0)
    counted = asked[latest[ends.below[asked]] > ends.row[asked]]
    story = _Story(facts, ends, latest, whose)
    found = [story.acked(int(slot)) for slot in late[:late_count]]
    found += [story.shown(int(element)) for element in early[:early_count]]
    found += [story.counted(int(question)) for question in counted[:SHOWN]]
    return Findings(
        found=tuple(sorted(found, key=lambda finding: finding.ops)[:SHOWN]),
        count=late_count + early_count + int(counted.size),
        looked_at=acked + facts.placed,
        nothing=_NOTHING,
    )


def _ends(facts: LogFacts) -> _Ends:
    columns, elements = facts.columns, facts.columns.elements
    element = facts.of_kind(kinds.HIGH)
    element = element[elements.offset[element] >= 0]
    row = elements.op[element].astype(np.int64)
    element, row = (column[columns.outcome[row] == OK] for column in (element, row))
    slot = np.array([facts.slot_from(int(one)) for one in element], np.int64)
    key = elements.key[element]
    below = np.where(slot >= 0, slot, facts.slots.start[key + 1]) - 1
    return _Ends(row, element, slot, np.where(below >= facts.slots.start[key], below, -1))


class _Story:
    """Two operations whose order in time and in the log cannot both be."""

    def __init__(self, facts: LogFacts, ends: _Ends, latest: Ints32, whose: Ints32) -> None:
        self.facts, self.ends, self.latest, self.whose = facts, ends, latest, whose

    def _later(self, slot: int) -> tuple[int, str]:
        """The row that came too late for this slot, and what it did."""
        facts, whose = self.facts, int(self.whose[slot])
        if whose < -1:
            question = -2 - whose
            row, element = int(self.ends.row[question]), int(self.ends.element[question])
            end = int(facts.columns.elements.offset[element])
            return row, f"{who(facts, row)} received end offset {end}"
        number = int(facts.slots.held[whose])
        row = int(facts.values.writer[number])
        offset = facts.offset_at(whose, int(facts.values.key[number]))
        sent = value_text(of_number(facts, number))
        return row, f"{who(facts, row)} began to send {sent}, which is at offset {offset}"

    def _finding(self, slot: int, row: int, key: int, claim: str) -> Finding:
        columns = self.facts.columns
        later, what = self._later(slot)
        return Finding(
            type="nonlinearizable-log",
            ops=tuple(sorted({columns.index_of(row), columns.index_of(later)})),
            because=(
                f"{who(self.facts, row)} {claim} of {key_text(self.facts, key)}; only later {what}"
            ),
            witness={
                "key": columns.key_of(key),
                "offset": self.facts.offset_at(slot, key),
                "ended": columns.index_of(row),
                "began": columns.index_of(int(self.latest[slot])),
            },
        )

    def acked(self, slot: int) -> Finding:
        facts = self.facts
        number = int(facts.slots.held[slot])
        key, offset = (
            int(facts.values.key[number]),
            facts.offset_at(slot, int(facts.values.key[number])),
        )
        claim = f"sent {value_text(of_number(facts, number))}, acknowledged at offset {offset}"
        return self._finding(slot, int(facts.values.writer[number]), key, claim)

    def shown(self, element: int) -> Finding:
        facts = self.facts
        key = int(facts.columns.elements.key[element])
        slot = int(facts.shift[key] + facts.offset[element])
        offset = facts.offset_at(slot, key)
        claim = f"polled {value_text(facts.columns.value_of(element))} at offset {offset}"
        return self._finding(slot, facts.columns.row_of(element), key, claim)

    def counted(self, question: int) -> Finding:
        facts = self.facts
        element = int(self.ends.element[question])
        key = int(facts.columns.elements.key[element])
        end = int(facts.columns.elements.offset[element])
        slot = int(self.ends.below[question])
        claim = f"received end offset {end}"
        return self._finding(slot, int(self.ends.row[question]), key, claim)


def watermark_regressions(facts: LogFacts, *, exact_ends: bool = False) -> Findings:
    """An end, or beginning, of a log that is told to be earlier than it was told before.

    To the same process; with `exact_ends` to any.
    """
    columns, elements = facts.columns, facts.columns.elements
    chosen = facts.of_kind(*_TOLD)
    chosen = chosen[elements.offset[chosen] >= 0]
    chosen = chosen[columns.outcome[elements.op[chosen]] == OK]
    groups = elements.kind[chosen].astype(np.int64) << 32 | elements.key[chosen]
    if not exact_ends:
        process = columns.ops.process[elements.op[chosen]]
        both = np.stack((groups, process.astype(np.int64)))
        groups = np.unique(both, axis=1, return_inverse=True)[1].reshape(-1)
    found: list[Finding] = []
    count = 0
    for group in np.unique(groups):
        mine = chosen[groups == group]
        rows = elements.op[mine].astype(np.int64)
        highest = np.maximum.accumulate(elements.offset[mine])
        # Rows are in the order of their completion, so those that ended before are a prefix.
        before = np.searchsorted(rows, columns.call[rows]) - 1
        back = np.flatnonzero((before >= 0) & (highest[before] > elements.offset[mine]))
        count += back.size
        for one in back[: SHOWN - len(found)]:
            earlier = mine[int(np.argmax(elements.offset[mine][: before[one] + 1]))]
            found.append(_regression(facts, int(earlier), int(mine[one])))
    return Findings(
        found=tuple(sorted(found, key=lambda finding: finding.ops)),
        count=count,
        looked_at=int(chosen.size),
        nothing="no end offset was requested",
    )


def _regression(facts: LogFacts, earlier: int, later: int) -> Finding:
    columns, elements = facts.columns, facts.columns.elements
    rows = [columns.row_of(element) for element in (earlier, later)]
    offsets = [int(elements.offset[element]) for element in (earlier, later)]
    key, what = int(elements.key[later]), _TOLD[int(elements.kind[later])]
    return Finding(
        type="watermark-regression",
        ops=tuple(columns.index_of(row) for row in rows),
        because=(
            f"{who(facts, rows[0])} received {offsets[0]} as the {what} of "
            f"{key_text(facts, key)}; {who(facts, rows[1])}, which began later, received "
            f"{offsets[1]}"
        ),
        witness={"key": columns.key_of(key), "offsets": offsets, "of": what},
    )


def _against_time(evidence: Evidence, contract: Contract) -> Findings:
    """The order of time and, where offsets are dense, whether all can have been filled in time."""
    found = nonlinearizable_logs(evidence.facts, exact_ends=contract.exact_ends)
    if not contract.dense_offsets:
        return found
    gaps = unfilled_offsets(evidence.facts)
    return replace(
        found,
        found=tuple(sorted((*found.found, *gaps.found), key=lambda one: one.ops)[:SHOWN]),
        count=found.count + gaps.count,
    )


CHECKERS = (
    Checker(
        name="nonlinearizable-log",
        about="The order of a log contradicts the order of time.",
        look=_against_time,
        rows=(
            *LOSS,
            never(
                "A record that is acknowledged before another one is sent precedes it in the log."
            ),
        ),
        model="kafka",
    ),
    Checker(
        name="watermark-regression",
        about="A later request returned a smaller start or end offset of a log.",
        look=lambda evidence, contract: watermark_regressions(
            evidence.facts, exact_ends=contract.exact_ends
        ),
        rows=(
            *LOSS,
            never(
                "The start and end offsets that a client receives of a partition never decrease."
            ),
        ),
        model="kafka",
    ),
)
