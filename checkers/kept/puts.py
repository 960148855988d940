"""replaced-get and lost-put: registers on a compacted topic, judged by offsets rather than time.

A get reads its partition as far as the leader it asks has told it, and that leader may have been
deposed. So a get may lack what was acknowledged beyond the end it has read to, however long ago.
Below that end it has no excuse: of each name it must give the last record there, for compaction
keeps that one, and what is below a high watermark stays. What was read back at the end, by polls,
was read to the true end.

Puts of unknown outcome are given the benefit of the doubt: they may be wherever there is room for
them. These operations are few beside records, so this is plain Python.
"""

from __future__ import annotations

from typing import Any

from checkers.checker import Checker, Need, of_facts
from checkers.clauses import BLIND_RETRIES, LOSS, never
from checkers.columns import OK
from checkers.findings import SHOWN, Finding, Findings
from checkers.kept.registers import UNKNOWN, Log, Name, Put, Registers, told
from checkers.log.facts import LogFacts
from checkers.log.words import key_text, value_text, who
from harness.history import kinds


def replaced_gets(facts: LogFacts) -> Findings:
    registers = Registers(facts)
    found: list[Finding] = []
    looked_at = 0
    for row, key, end, value in told(facts, kinds.GET_AT):
        if facts.columns.outcome[row] != OK or end < 0:
            continue
        looked_at += 1
        why = _why_not(facts, registers.names.get(key), row, end, value)
        if why is not None:
            put, sentence = why
            found.append(_finding(facts, "replaced-get", key, row, put, sentence))
    return _findings(found, looked_at, "no get recorded the offset up to which it read")


def _why_not(
    facts: LogFacts, name: Name | None, row: int, end: int, value: Any
) -> tuple[Put | None, str] | None:
    """What speaks against this value, if anything does."""
    got = "nothing" if value is None else value_text(value)
    read = f"{who(facts, row)} read up to offset {end} and got {got}"
    if name is None:
        return None if value is None else (None, f"{read}, which no process had put there")
    last = name.last(below=end, before=row)
    if value is None:
        if (
            last is None
            or last.value is None
            or name.may_be_deleted(above=last.offset, below=end, before=row)
        ):
            return None
        return last, f"{_acknowledged(facts, last)}; {read}"
    sources = [put for put in name.puts if put.value == value and put.call < row]
    if not sources:
        return None, f"{read}, which no process had put there"
    if last is None or any(_may_follow(name, put, last, end) for put in sources):
        return None
    place = max(put.offset for put in sources)
    where = f"is at offset {place}" if place != UNKNOWN else "fits at no offset in between"
    return last, f"{_acknowledged(facts, last)}; {read}, which {where}"


def _may_follow(name: Name, put: Put, last: Put, end: int) -> bool:
    """Whether it may be that one, or between it and the end."""
    if put.is_placed:
        return put.offset >= last.offset
    return name.log.has_room(put, above=last.offset, below=end)


def lost_puts(facts: LogFacts) -> Findings:
    """Whoever asks has to know that every partition was polled from its beginning to its end."""
    registers = Registers(facts)
    found: list[Finding] = _overwritten(registers) if registers.is_read_back else []
    looked_at = 0
    for key, name in sorted(registers.names.items()):
        last = name.last()
        if last is None or not registers.is_read_back or last.offset < name.log.low:
            continue
        looked_at += 1
        sentence = _what_became_of(name, last)
        if sentence is not None:
            sentence = f"{_acknowledged(facts, last)}; at the end {sentence}"
            found.append(_finding(facts, "lost-put", key, last.row, last, sentence))
    return _findings(found, looked_at, "no put was acknowledged, or nothing was read back")


def _what_became_of(name: Name, last: Put) -> str | None:
    """Of the last put that has a place, if anything did."""
    polled = name.log.polled
    kept = [put for put in name.puts if polled.get(put.offset, put) == put.value]
    if any(put.offset >= last.offset for put in kept) or name.may_be_gone(last):
        return None
    if last.value is not None:
        return "the name has no value"
    # The tombstone may be gone, but then all that it deleted must be, too.
    values = [put for put in kept if put.value is not None]
    if not values:
        return None
    left = max(values, key=lambda put: put.offset)
    return f"{value_text(left.value)} at offset {left.offset} is still read"


def _overwritten(registers: Registers) -> list[Finding]:
    """An offset is one record's for ever: of two that were acknowledged there, one is gone."""
    facts, found = registers.facts, []
    held: dict[tuple[Log, int], Put] = {}
    for key, name in sorted(registers.names.items()):
        for put in name.puts:
            if not put.is_told:
                continue
            other = held.setdefault((name.log, put.offset), put)
            shown = name.log.polled.get(put.offset, put.value)
            if other is not put:
                second = f"{_acknowledged(facts, other)} as well"
                sentence = f"{_acknowledged(facts, put)}; {second}"
                found.append(_finding(facts, "lost-put", key, other.row, put, sentence))
            elif shown != put.value:
                sentence = f"{_acknowledged(facts, put)}; at the end {value_text(shown)} is there"
                found.append(_finding(facts, "lost-put", key, put.row, put, sentence))
    return found


def _acknowledged(facts: LogFacts, put: Put) -> str:
    deed = "deleted it" if put.value is None else f"put {value_text(put.value)}"
    return f"{who(facts, put.row)} {deed} at offset {put.offset}"


def _finding(
    facts: LogFacts, type_: str, key: int, row: int, put: Put | None, sentence: str
) -> Finding:
    columns = facts.columns
    rows = {row} if put is None else {row, put.row}
    return Finding(
        type=type_,
        ops=tuple(sorted(columns.index_of(each) for each in rows)),
        because=f"{key_text(facts, key)}: {sentence}",
        witness={
            "key": columns.key_of(key),
            "put": None if put is None else [put.offset, put.value],
        },
    )


def _findings(found: list[Finding], looked_at: int, nothing: str) -> Findings:
    shown = tuple(sorted(found, key=lambda finding: finding.ops)[:SHOWN])
    return Findings(found=shown, count=len(found), looked_at=looked_at, nothing=nothing)


CHECKERS = (
    Checker(
        name="replaced-get",
        about="A get returned a value that was replaced before the end offset it had read to.",
        look=of_facts(replaced_gets),
        rows=(
            BLIND_RETRIES,
            *LOSS,
            never(
                "A get returns the last value of a name below the end offset that it has read to."
            ),
        ),
        stands=True,
    ),
    Checker(
        name="lost-put",
        about="The final read of the log lacks the last value of a name.",
        look=of_facts(lost_puts),
        rows=(
            BLIND_RETRIES,
            *LOSS,
            never(
                "A compacted topic keeps the last value of every name, and none of a deleted name."
            ),
        ),
        needs=frozenset({Need.READ_BACK}),
    ),
)
