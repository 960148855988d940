"""G1a: a poll showed a value whose every send certainly failed.

Jepsen looks at ok polls only. A consumer must not be shown bad data whatever becomes of the
operation that polled it, so polls of info and fail operations count as well.
"""

from __future__ import annotations

from checkers.checker import Checker, of_facts
from checkers.clauses import UNCOMMITTED, never
from checkers.findings import SHOWN, Finding, Findings, limited
from checkers.kernels.values import ABORTED
from checkers.log.facts import LogFacts
from checkers.log.late_requests import row_of_late_request
from checkers.log.words import key_text, of_number, place_of, place_text, value_text, who


def aborted_reads(facts: LogFacts) -> Findings:
    found = facts.marks.having(ABORTED)
    return limited(
        "G1a",
        [int(number) for number in found[:SHOWN]],
        found.size,
        looked_at=facts.marks.shown,
        nothing="no record was polled",
        told=lambda number: _told(facts, number),
    )


def _told(facts: LogFacts, number: int) -> Finding:
    columns, values = facts.columns, facts.values
    key, writer = int(values.key[number]), int(values.writer[number])
    reading = max(int(values.reader[number]), -1)
    if reading < 0:
        reading = int(values.other_reader[number])
    reader = columns.row_of(reading)
    offset = int(columns.elements.offset[reading])
    value = of_number(facts, number)
    return Finding(
        type="G1a",
        ops=tuple(sorted({columns.index_of(writer), columns.index_of(reader)})),
        because=(
            f"{who(facts, writer)} failed to send {value_text(value)} to "
            f"{key_text(facts, key)}, but {who(facts, reader)} polled it at "
            f"{place_text(offset)}"
        ),
        witness={
            "key": columns.key_of(key),
            "value": value,
            "offset": place_of(offset),
            "writer": columns.index_of(writer),
            "reader": columns.index_of(reader),
        },
        row=row_of_late_request(facts, writer),
    )


CHECKERS = (
    Checker(
        name="G1a",
        about="A poll returned a value whose send failed.",
        look=of_facts(aborted_reads),
        rows=(
            UNCOMMITTED,
            never("A read_committed consumer reads no record that failed or was aborted."),
        ),
        stands=True,
        model="kafka",
    ),
)
