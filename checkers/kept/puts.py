"""replaced-get and lost-put: registers on a compacted topic, judged by offsets rather than time.

A get reads its partition as far as the leader it asks has told it, and that leader may have been
deposed. So a get may lack what was acknowledged beyond the end it has read to, however long ago.
Below that end it has no excuse: of each name it must give the last record there, for compaction
keeps that one, and what is below a high watermark stays. What was read back at the end, by polls,
was read to the true end.

Puts of unknown outcome are given the benefit of the doubt: they may be anywhere. These operations
are few beside records, so this is plain Python.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from checkers.columns import FAIL, OK
from checkers.findings import SHOWN, Finding, Findings
from checkers.log.facts import LogFacts
from checkers.log.words import key_text, value_text, who
from harness.history import kinds

_UNKNOWN = -1


class _Put(NamedTuple):
    offset: int
    """-1 if it was not acknowledged, or not told its place."""
    value: Any
    row: int
    call: int
    is_ok: bool


@dataclass(slots=True)
class _Name:
    """One name of a partition, and what was put to it, but for what failed."""

    log: str
    puts: list[_Put] = field(default_factory=list)

    def last(self, *, below: int | None = None, before: int | None = None) -> _Put | None:
        """The acknowledged put with the highest offset: below `below`, begun before row `before`"""
        placed = [
            put
            for put in self.puts
            if put.is_ok
            and put.offset != _UNKNOWN
            and (below is None or put.offset < below)
            and (before is None or put.call < before)
        ]
        return max(placed, key=lambda put: put.offset, default=None)

    def may_be_deleted(self) -> bool:
        """A deletion whose place is not known may have come at any time since."""
        return any(put.value is None and put.offset == _UNKNOWN for put in self.puts)


class _Registers:
    def __init__(self, facts: LogFacts) -> None:
        self.facts = facts
        self.names: dict[int, _Name] = {}
        for row, key, offset, value in _told(facts, kinds.PUT, kinds.PUT_AT):
            outcome = facts.columns.outcome[row]
            if outcome != FAIL:
                name = self.names.setdefault(key, _Name(key_text(facts, key).partition("/")[0]))
                is_ok = bool(outcome == OK)
                put = _Put(
                    offset if is_ok else _UNKNOWN, value, row, int(facts.columns.call[row]), is_ok
                )
                name.puts.append(put)
        self.polled: dict[str, dict[int, Any]] = defaultdict(dict)
        """By partition and offset."""
        for row, key, offset, value in _told(facts, *([kinds.RECORD] if self.names else [])):
            if facts.columns.outcome[row] == OK:
                self.polled[key_text(facts, key)][offset] = value

    def place_of(self, name: _Name, put: _Put) -> int:
        """Of a value that was not acknowledged, where it was polled."""
        if put.offset != _UNKNOWN or put.value is None:
            return put.offset
        found = [at for at, value in self.polled[name.log].items() if value == put.value]
        return max(found, default=_UNKNOWN)


def _told(facts: LogFacts, *wanted: int) -> Iterator[tuple[int, int, int, Any]]:
    """Row, key, offset and value of completed operations; a value of null is None."""
    columns, elements = facts.columns, facts.columns.elements
    begin, end = columns.spans
    for element in facts.of_kind(*wanted).tolist():
        row = columns.row_of(element)
        is_told = columns.outcome[row] and begin[row] <= element < end[row]
        if is_told and columns.ops.process[row] >= 0:
            value = columns.value_of(element) if elements.told[element] else None
            yield row, int(elements.key[element]), int(elements.offset[element]), value


def replaced_gets(facts: LogFacts) -> Findings:
    registers = _Registers(facts)
    found: list[Finding] = []
    looked_at = 0
    for row, key, end, value in _told(facts, kinds.GET_AT):
        if facts.columns.outcome[row] != OK or end < 0:
            continue
        looked_at += 1
        why = _why_not(registers, registers.names.get(key), row, end, value)
        if why is not None:
            put, sentence = why
            found.append(_finding(facts, "replaced-get", key, row, put, sentence))
    return _findings(found, looked_at, "no get said how far it had read")


def _why_not(
    registers: _Registers, name: _Name | None, row: int, end: int, value: Any
) -> tuple[_Put | None, str] | None:
    """What speaks against this value, if anything does."""
    facts = registers.facts
    got = "nothing" if value is None else value_text(value)
    read = f"{who(facts, row)} read as far as offset {end} and got {got}"
    last = None if name is None else name.last(below=end, before=row)
    if value is None:
        if last is None or last.value is None or (name is not None and name.may_be_deleted()):
            return None
        return last, f"{_acknowledged(facts, last)}; {read}"
    sources = [put for put in name.puts if put.value == value and put.call < row] if name else []
    if name is None or not sources:
        return None, f"{read}, which nobody had put there"
    places = [registers.place_of(name, put) for put in sources]
    if last is None or any(place == _UNKNOWN or place >= last.offset for place in places):
        return None
    return last, f"{_acknowledged(facts, last)}; {read}, which is at offset {max(places)}"


def lost_puts(facts: LogFacts) -> Findings:
    """Whoever asks has to know that every partition was polled from its beginning to its end."""
    registers = _Registers(facts)
    lows = _lows(facts)
    found: list[Finding] = _overwritten(registers) if registers.polled else []
    looked_at = 0
    for key, name in sorted(registers.names.items()):
        last = name.last()
        if last is None or not registers.polled or last.offset < lows[name.log]:
            continue
        looked_at += 1
        polled = registers.polled[name.log]
        kept = [
            place
            for put in name.puts
            for place in (registers.place_of(name, put),)
            if place in polled and polled[place] == put.value
        ]
        if last.value is None:
            # The tombstone may be gone, but then all that it deleted must be, too.
            left = max(kept, default=_UNKNOWN)
            if left != _UNKNOWN and left < last.offset:
                sentence = f"in the end {value_text(polled[left])} at offset {left} is still read"
                finding = f"{_acknowledged(facts, last)}; {sentence}"
                found.append(_finding(facts, "lost-put", key, last.row, last, finding))
        elif max(kept, default=_UNKNOWN) < last.offset and not name.may_be_deleted():
            sentence = f"{_acknowledged(facts, last)}; in the end nothing of this name is there"
            found.append(_finding(facts, "lost-put", key, last.row, last, sentence))
    return _findings(found, looked_at, "no put was acknowledged, or nothing was read back")


def _overwritten(registers: _Registers) -> list[Finding]:
    """An offset is one record's for ever: of two that were acknowledged there, one is gone."""
    facts, found = registers.facts, []
    held: dict[tuple[str, int], _Put] = {}
    for key, name in sorted(registers.names.items()):
        for put in name.puts:
            if not put.is_ok or put.offset == _UNKNOWN:
                continue
            other = held.setdefault((name.log, put.offset), put)
            shown = registers.polled[name.log].get(put.offset, put.value)
            if other is not put:
                second = f"{_acknowledged(facts, other)}, too"
                sentence = f"{_acknowledged(facts, put)}; {second}"
                found.append(_finding(facts, "lost-put", key, other.row, put, sentence))
            elif shown != put.value:
                sentence = f"{_acknowledged(facts, put)}; in the end {value_text(shown)} is there"
                found.append(_finding(facts, "lost-put", key, put.row, put, sentence))
    return found


def _lows(facts: LogFacts) -> dict[str, int]:
    """Where each log begins: what is below was deleted by retention."""
    lows: dict[str, int] = defaultdict(int)
    elements = facts.columns.elements
    for element in facts.of_kind(kinds.LOW).tolist():
        log = key_text(facts, int(elements.key[element]))
        lows[log] = max(lows[log], int(elements.offset[element]))
    return lows


def _acknowledged(facts: LogFacts, put: _Put) -> str:
    deed = "deleted it" if put.value is None else f"put {value_text(put.value)}"
    return f"{who(facts, put.row)} {deed} at offset {put.offset}"


def _finding(
    facts: LogFacts, type_: str, key: int, row: int, put: _Put | None, sentence: str
) -> Finding:
    columns = facts.columns
    rows = {row} if put is None else {row, put.row}
    return Finding(
        type=type_,
        ops=tuple(sorted(columns.index_of(each) for each in rows)),
        because=f"of {key_text(facts, key)}, {sentence}",
        witness={
            "key": columns.key_of(key),
            "put": None if put is None else [put.offset, put.value],
        },
    )


def _findings(found: list[Finding], looked_at: int, nothing: str) -> Findings:
    shown = tuple(sorted(found, key=lambda finding: finding.ops)[:SHOWN])
    return Findings(found=shown, count=len(found), looked_at=looked_at, nothing=nothing)
