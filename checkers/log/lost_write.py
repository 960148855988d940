"""lost-write: a record took effect, somebody read past it, and nobody ever read it.

The bound of a key is the highest rank that an ok poll reached, each value counted where it first
appears; a value is missing if the last place where it appears is at or below the bound. So a value
at several offsets, or an offset with several values, never makes a loss out of nothing. What is
below the log's low watermark may have been deleted, and is not called lost.
"""

from __future__ import annotations

from checkers.checker import Checker, of_facts
from checkers.clauses import LOSS, never
from checkers.findings import SHOWN, Finding, Findings, limited
from checkers.kernels.values import LOST
from checkers.log.facts import SEND, LogFacts
from checkers.log.late_requests import row_of_late_request
from checkers.log.words import element_of, key_text, of_number, value_text, who


def lost_writes(facts: LogFacts) -> Findings:
    lost = facts.marks.having(LOST)
    return limited(
        "lost-write",
        [int(number) for number in lost[:SHOWN]],
        lost.size,
        looked_at=facts.marks.due,
        nothing=(
            f"no acknowledged record had to be read: {facts.sends} sends were ok, "
            f"{facts.polled} records were polled"
        ),
        told=lambda number: _told(facts, number),
    )


def _told(facts: LogFacts, number: int) -> Finding:
    columns, values = facts.columns, facts.values
    key = int(values.key[number])
    writer = int(values.writer[number])
    element = element_of(facts, writer, number, SEND)
    furthest = int(facts.slots.furthest[key])
    past = int(values.reader[furthest])
    reader = columns.row_of(past)
    value, name = of_number(facts, number), key_text(facts, key)
    slot = int(values.last[number])
    offset = facts.offset_at(slot, key)
    if columns.elements.offset[element] >= 0:
        claim = f"sent {value_text(value)}, acknowledged at offset {offset} of {name}"
    else:
        claim = f"sent {value_text(value)}, which took effect at offset {offset} of {name}"
    reached = facts.offset_at(int(values.first[furthest]), key)
    return Finding(
        type="lost-write",
        ops=tuple(sorted({columns.index_of(writer), columns.index_of(reader)})),
        because=(
            f"{who(facts, writer)} {claim}; {who(facts, reader)} read {name} up to offset "
            f"{reached}; no poll returned the record"
        ),
        witness={
            "key": columns.key_of(key),
            "value": value,
            "offset": offset,
            "index": facts.rank_at(int(values.first[number]), key),
            "max-read-index": facts.rank_at(int(facts.slots.bound[key]), key),
            "writer": columns.index_of(writer),
            "max-read": columns.index_of(reader),
        },
        row=row_of_late_request(facts, writer),
    )


CHECKERS = (
    Checker(
        name="lost-write",
        about="A record took effect, and no poll returned it although later records were read.",
        look=of_facts(lost_writes),
        rows=(
            *LOSS,
            never("With acks=all and clean elections an acknowledged record is never lost."),
        ),
        model="kafka",
    ),
)
