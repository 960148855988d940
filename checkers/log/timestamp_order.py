"""timestamp-order and timestamp-change: timestamps of records that a broker must keep.

message.timestamp.type decides what a timestamp is. Under LogAppendTime the leader stamps each batch
with its wall clock when it appends it: along a log timestamps never decrease, as long as all
leaders read the same clock. Kafka does not promise more: it keeps no maximum, so a leader whose
clock is behind stamps records earlier than those before them. Under CreateTime a record has the
timestamp that its producer sent; along a log these come in any order.

Under both types a timestamp is stored with its record and never changes. It is compared with what
the producer sent (CreateTime), and otherwise with what the first poll returned. Offsets with
several values are left out: inconsistent-offsets reports them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from checkers.arrays import Bools, Ints32, Ints64
from checkers.checker import Checker, Evidence, Need
from checkers.clauses import LOSS, never
from checkers.contract import Clause, Contract, Promise
from checkers.findings import SHOWN, Finding, Findings
from checkers.log.facts import LogFacts
from checkers.log.foreign import log_of, mark_of
from checkers.log.words import key_text, place_of, place_text, value_text, who
from harness.history import kinds

_ORDER, _CHANGE = "timestamp-order", "timestamp-change"
_SENDS = (kinds.SEND, kinds.SENT, kinds.OUT)
_OTHER_WRITES = (kinds.APPEND, kinds.PUT, kinds.PUT_AT)
_AT_ONCE = 1 << 20
"""Elements that are looked at together, so that a long history needs little memory."""
_NONE, _UNCLEAR = -1, -2


class _Stamps:
    """Timestamps of the elements of completed operations."""

    def __init__(self, facts: LogFacts, by_element: Ints64) -> None:
        self.facts = facts
        self.by_element = by_element

    def elements(self, wanted: tuple[int, ...]) -> Iterator[Ints64]:
        """Elements of these kinds that have a timestamp, in their order, some at a time."""
        columns = self.facts.columns
        is_wanted = np.zeros(128, np.bool_)
        is_wanted[list(wanted)] = True
        for low in range(0, self.by_element.size, _AT_ONCE):
            part = slice(low, low + _AT_ONCE)
            is_ours = columns.outcome[columns.elements.op[part]] > 0
            is_ours &= is_wanted[columns.elements.kind[part]] & (self.by_element[part] >= 0)
            yield low + np.flatnonzero(is_ours)

    def polled(self) -> Iterator[Ints64]:
        return self.elements((kinds.RECORD,))

    def slots(self, elements: Ints64) -> Ints64:
        """Slots of these elements in their logs; -1 where the offset is not known."""
        facts = self.facts
        slots = facts.shift[facts.columns.elements.key[elements]] + facts.offset[elements]
        return np.where(facts.columns.elements.offset[elements] >= 0, slots, -1)


@dataclass(frozen=True, slots=True)
class _Changed:
    """Pairs of elements about one record whose timestamps differ."""

    pairs: list[tuple[int, int]]
    count: int
    looked_at: int


def timestamp_orders(evidence: Evidence, contract: Contract) -> Findings:
    if contract.timestamp_type is None:
        return Findings(nothing="message.timestamp.type of the topics is unknown")
    facts = evidence.facts
    by_element = facts.columns.timestamps
    if by_element is None:
        return Findings(nothing="the history has no timestamps")
    stamps = _Stamps(facts, by_element)
    if contract.timestamp_type == "LogAppendTime":
        return _by_append_time(stamps)
    return _by_create_time(stamps)


# LogAppendTime


def _by_append_time(stamps: _Stamps) -> Findings:
    facts = stamps.facts
    first = np.full(facts.slots.held.size, _NONE, np.int32)
    polled = 0
    for elements in stamps.polled():
        slots = stamps.slots(elements)
        is_placed = slots >= 0
        _keep_first(first, slots[is_placed], elements[is_placed])
        polled += int(is_placed.sum())
    first[facts.slots.clash != 0] = _UNCLEAR
    changed = _changed_slots(stamps, first)
    back = _steps_back(stamps, first)
    found = [_earlier(stamps, *pair) for pair in back[:SHOWN].tolist()]
    found += [_other_stamp(stamps, *pair) for pair in changed.pairs]
    return Findings(
        found=tuple(sorted(found, key=lambda finding: finding.ops)),
        count=len(back) + changed.count,
        looked_at=polled,
        nothing="no record was polled with a timestamp and an offset",
    )


def _changed_slots(stamps: _Stamps, first: Ints32) -> _Changed:
    """Slots that were polled with two timestamps; they are marked as unclear."""
    found: dict[int, tuple[int, int]] = {}
    is_changed = np.zeros(first.size, np.bool_)
    for elements in stamps.polled():
        slots = stamps.slots(elements)
        differs = _differ(stamps, first, slots, elements)
        for slot, element in zip(slots[differs].tolist(), elements[differs].tolist(), strict=True):
            if len(found) == SHOWN:
                break
            found.setdefault(slot, (int(first[slot]), element))
        is_changed[slots[differs]] = True
    first[is_changed] = _UNCLEAR
    return _Changed(list(found.values()), int(is_changed.sum()), 0)


def _steps_back(stamps: _Stamps, first: Ints32) -> Ints64:
    """Pairs of elements, neighbours in a log, of which the later one has the earlier timestamp."""
    slots = np.flatnonzero(first >= 0)
    by_slot = stamps.by_element[first[slots]]
    at = np.flatnonzero(by_slot[1:] < by_slot[:-1])
    earlier, later = slots[at], slots[at + 1]
    is_one_log = stamps.facts.key_at(earlier) == stamps.facts.key_at(later)
    pairs: Ints64 = np.stack((first[earlier], first[later]), axis=1)[is_one_log].astype(np.int64)
    return pairs


# CreateTime


def _by_create_time(stamps: _Stamps) -> Findings:
    changed = _changed_records(stamps, _sources(stamps))
    deleting = _changed_tombstones(stamps)
    pairs = (*changed.pairs, *deleting.pairs)[:SHOWN]
    found = [_other_stamp(stamps, *pair) for pair in pairs]
    return Findings(
        found=tuple(sorted(found, key=lambda finding: finding.ops)),
        count=changed.count + deleting.count,
        looked_at=changed.looked_at + deleting.looked_at,
        nothing="no record with a timestamp was both sent and polled",
    )


def _sources(stamps: _Stamps) -> Ints32:
    """By value, the element that says which timestamp it has: its send, or else its first poll."""
    facts = stamps.facts
    number = facts.number
    source = np.full(int(number.max(initial=-1)) + 1, _NONE, np.int32)
    for elements in stamps.elements(_SENDS):
        _keep_first(source, number[elements], elements)
    # A value that was sent twice, in a history of others, may have either timestamp.
    for elements in stamps.elements(_SENDS):
        numbers = number[elements]
        source[numbers[_differ(stamps, source, numbers, elements)]] = _UNCLEAR
    written = _written_otherwise(stamps)
    for elements in stamps.polled():
        if written:
            _find_writes(stamps, written, source, elements)
        _keep_first(source, number[elements], elements)
    return source


def _written_otherwise(stamps: _Stamps) -> dict[tuple[str, str], int]:
    """Elements that appended or put a value, by log and value: such a write has no number."""
    found: dict[tuple[str, str], int] = {}
    facts = stamps.facts
    if not facts.survey.kinds[list(_OTHER_WRITES)].any():
        return found
    for elements in stamps.elements(_OTHER_WRITES):
        for element in elements.tolist():
            if facts.columns.elements.told[element]:
                value = mark_of(facts.columns.value_of(element))
                found.setdefault((log_of(facts, element), value), element)
    return found


def _find_writes(
    stamps: _Stamps, written: dict[tuple[str, str], int], source: Ints32, elements: Ints64
) -> None:
    facts = stamps.facts
    for element in elements.tolist():
        number = int(facts.number[element])
        if number >= 0 and source[number] == _NONE:
            name = log_of(facts, element), mark_of(facts.columns.value_of(element))
            source[number] = written.get(name, _NONE)


def _changed_records(stamps: _Stamps, source: Ints32) -> _Changed:
    found: dict[int, tuple[int, int]] = {}
    is_changed = np.zeros(source.size, np.bool_)
    compared = 0
    for elements in stamps.polled():
        numbers = stamps.facts.number[elements]
        is_known = numbers >= 0
        noted = source[numbers[is_known]]
        compared += int(((noted >= 0) & (noted != elements[is_known])).sum())
        differs = _differ(stamps, source, numbers, elements)
        for at in np.flatnonzero(differs).tolist():
            if len(found) == SHOWN:
                break
            number, element = int(numbers[at]), int(elements[at])
            found.setdefault(number, (int(source[number]), element))
        is_changed[numbers[differs]] = True
    return _Changed(list(found.values()), int(is_changed.sum()), compared)


def _changed_tombstones(stamps: _Stamps) -> _Changed:
    """Records without a value, known by their offsets: compaction rewrites their batches."""
    facts, cells = stamps.facts, stamps.facts.columns.elements
    sources: dict[tuple[str, int], int] = {}
    pairs: dict[tuple[str, int], tuple[int, int]] = {}
    compared = 0
    if not facts.survey.kinds[kinds.PUT_AT]:
        return _Changed([], 0, 0)
    for elements in stamps.elements((kinds.PUT_AT,)):
        for element in elements[~cells.told[elements]].tolist():
            sources[log_of(facts, element), int(cells.offset[element])] = element
    for elements in stamps.polled():
        for element in elements[~cells.told[elements]].tolist():
            place = log_of(facts, element), int(cells.offset[element])
            source = sources.get(place, _NONE)
            compared += source >= 0
            if source >= 0 and stamps.by_element[source] != stamps.by_element[element]:
                pairs.setdefault(place, (source, element))
    return _Changed(list(pairs.values()), len(pairs), compared)


# Both


def _keep_first(first: Ints32, at: Ints32 | Ints64, elements: Ints64) -> None:
    """Notes each element at its place, unless the place is below 0 or taken."""
    is_free = at >= 0
    is_free[is_free] = first[at[is_free]] == _NONE
    # Of several to one place numpy keeps the last that is written.
    first[at[is_free][::-1]] = elements[is_free][::-1]


def _differ(stamps: _Stamps, first: Ints32, at: Ints32 | Ints64, elements: Ints64) -> Bools:
    """Which elements have another timestamp than the one noted at their place."""
    differs = at >= 0
    noted = first[at[differs]]
    is_other = stamps.by_element[np.maximum(noted, 0)] != stamps.by_element[elements[differs]]
    differs[differs] = (noted >= 0) & is_other
    return differs


def _earlier(stamps: _Stamps, before: int, after: int) -> Finding:
    facts, columns = stamps.facts, stamps.facts.columns
    rows = [columns.row_of(element) for element in (before, after)]
    times = [int(stamps.by_element[element]) for element in (before, after)]
    offsets = [int(columns.elements.offset[element]) for element in (before, after)]
    key = int(columns.elements.key[after])
    other = "" if rows[0] == rows[1] else f"{who(facts, rows[1])} polled "
    return Finding(
        type=_ORDER,
        ops=_indices(facts, rows),
        because=f"{who(facts, rows[0])} polled offset {offsets[0]} of {key_text(facts, key)} with "
        f"timestamp {times[0]}, and {other}offset {offsets[1]} with timestamp {times[1]}, which is "
        f"{times[0] - times[1]} ms earlier",
        witness={
            "key": columns.key_of(key),
            "offsets": offsets,
            "values": [_value(facts, element) for element in (before, after)],
            "timestamps": times,
        },
    )


def _other_stamp(stamps: _Stamps, source: int, polled: int) -> Finding:
    facts, columns = stamps.facts, stamps.facts.columns
    rows = [columns.row_of(element) for element in (source, polled)]
    times = [int(stamps.by_element[element]) for element in (source, polled)]
    key, offset = int(columns.elements.key[polled]), int(columns.elements.offset[polled])
    value, name = _value(facts, polled), key_text(facts, key)
    what = "a tombstone" if value is None else value_text(value)
    is_polled = columns.elements.kind[source] == kinds.RECORD
    claim = f"polled {what} from {name}" if is_polled else f"sent {what} to {name}"
    return Finding(
        type=_CHANGE,
        ops=_indices(facts, rows),
        because=f"{who(facts, rows[0])} {claim} with timestamp {times[0]}, and "
        f"{who(facts, rows[1])} polled it at {place_text(offset)} with timestamp {times[1]}",
        witness={
            "key": columns.key_of(key),
            "value": value,
            "offset": place_of(offset),
            "timestamps": times,
        },
    )


def _indices(facts: LogFacts, rows: list[int]) -> tuple[int, ...]:
    return tuple(sorted({facts.columns.index_of(row) for row in rows}))


def _value(facts: LogFacts, element: int) -> object:
    told = facts.columns.elements.told[element]
    return facts.columns.value_of(element) if told else None


def _under_append_time(clause: Clause) -> Clause:
    """A record that is lost and sent again is stamped again; under CreateTime it keeps its own."""
    return Clause(
        f"LogAppendTime, {clause.when}",
        lambda contract: contract.timestamp_type == "LogAppendTime" and clause.holds(contract),
        clause.promise,
        clause.sentence,
    )


_MOVED_CLOCKS = Clause(
    "clock",
    lambda contract: "clock" in contract.faults,
    Promise.ALLOWED,
    "A leader stamps records with its own clock, and a nemesis moved clocks.",
)
_SEVERAL_CLOCKS = Clause(
    "brokers on several machines",
    lambda contract: not contract.one_clock,
    Promise.ALLOWED,
    "A leader stamps records with its own clock, and clocks of several machines differ.",
)

CHECKERS = (
    Checker(
        name=_ORDER,
        about="Timestamps decrease along a log (LogAppendTime), or a record's timestamp changes.",
        look=timestamp_orders,
        rows=(
            _MOVED_CLOCKS,
            _SEVERAL_CLOCKS,
            *LOSS,
            never(
                "Under LogAppendTime leaders that read one clock stamp each batch no earlier than "
                "the one before it."
            ),
        ),
        other_rows={
            _CHANGE: (
                *map(_under_append_time, LOSS),
                never(
                    "A record keeps its timestamp: the producer's under CreateTime, that of its "
                    "first append under LogAppendTime."
                ),
            )
        },
        needs=frozenset({Need.TIMESTAMPS}),
        stands=True,
        model="kafka",
    ),
)
