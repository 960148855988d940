"""lost-append and phantom-append: lists as they were read, against what was appended to them.

While a run goes on a read may lag behind, because the leader that answers may have been deposed.
What is polled at the end, when all is healed and other nodes lead, may not: so an acknowledged
append that no poll shows is lost, and so is what a read has shown before. Whoever asks has to know
that everything was read back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from checkers.arrays import Bools, Ints32
from checkers.checker import Checker, Need, of_facts
from checkers.clauses import LOSS, never
from checkers.columns import OK, Columns
from checkers.findings import SHOWN, Finding, Findings, limited
from checkers.log.facts import LogFacts
from checkers.log.words import key_text, value_text, who
from checkers.numbering import numbered
from harness.history import kinds

_SHOWS = (kinds.RECORD, kinds.READ_ELEMENT)


class _Lists:
    def __init__(self, facts: LogFacts) -> None:
        columns = facts.columns
        self.elements = elements = columns.elements
        wanted: Bools = elements.told & np.isin(elements.kind, (kinds.APPEND, *_SHOWS))
        numbering = numbered(elements, wanted)
        self.number: Ints32 = numbering.number
        self.count = int(numbering.owner.size)
        clients = columns.ops.process[elements.op] >= 0
        self.appends: Bools = wanted & clients & (elements.kind == kinds.APPEND)
        self._ok: Bools = wanted & clients & (columns.outcome[elements.op] == OK)

    def ok(self, *wanted: int) -> Bools:
        """The elements of these kinds in operations that are ok."""
        found: Bools = self._ok & np.isin(self.elements.kind, wanted)
        return found

    def has(self, of: Bools) -> Bools:
        """By number of value: whether one of these elements has it."""
        found = np.zeros(self.count + 1, np.bool_)  # the last for elements without a number
        found[self.number[of]] = True
        return found


def lost_appends(facts: LogFacts) -> Findings:
    nothing = "no append was acknowledged, or no list was read back"
    if not facts.of_kind(kinds.APPEND).size:
        return Findings(nothing=nothing)
    lists = _Lists(facts)
    acked, polled = lists.ok(kinds.APPEND), lists.ok(kinds.RECORD)
    gone = ~lists.has(polled)[lists.number]
    lost = np.flatnonzero(acked & gone)
    # Nobody knew what became of these, until somebody read them. Each is told once.
    shown = np.flatnonzero(lists.ok(kinds.READ_ELEMENT) & gone & ~lists.has(acked)[lists.number])
    shown = shown[np.unique(lists.number[shown], return_index=True)[1]]
    lost = np.sort(np.concatenate((lost, shown)))
    is_read_back = bool(polled.any())

    def told(element: int) -> Finding:
        row, key, value = _at(facts, element)
        did = "appended" if acked[element] else "read"
        where = "to" if acked[element] else "from"
        return Finding(
            type="lost-append",
            ops=(facts.columns.index_of(row),),
            because=(
                f"{who(facts, row)} {did} {value_text(value)} {where} {key}, and the final "
                "read of the list lacks it"
            ),
            witness={"key": key, "value": value},
        )

    return limited(
        "lost-append",
        lost[:SHOWN].tolist() if is_read_back else [],
        int(lost.size) if is_read_back else 0,
        looked_at=int(np.count_nonzero(acked)) if is_read_back else 0,
        nothing=nothing,
        told=told,
    )


def phantom_appends(facts: LogFacts) -> Findings:
    """In lists that anybody has appended to; others are not lists of this kind."""
    nothing = "no list was read"
    if not facts.of_kind(kinds.APPEND).size:
        return Findings(nothing=nothing)
    lists = _Lists(facts)
    keys = np.unique(lists.elements.key[lists.appends])
    shown: Bools = lists.ok(*_SHOWS) & np.isin(lists.elements.key, keys)
    strange = np.flatnonzero(shown & ~lists.has(lists.appends)[lists.number])

    def told(element: int) -> Finding:
        row, key, value = _at(facts, element)
        return Finding(
            type="phantom-append",
            ops=(facts.columns.index_of(row),),
            because=(
                f"{who(facts, row)} read {value_text(value)} from {key}, which no process "
                "appended there"
            ),
            witness={"key": key, "value": value},
        )

    return limited(
        "phantom-append",
        strange[:SHOWN].tolist(),
        int(strange.size),
        looked_at=int(np.count_nonzero(shown)),
        nothing=nothing,
        told=told,
    )


def _at(facts: LogFacts, element: int) -> tuple[int, str, Any]:
    columns: Columns = facts.columns
    key = key_text(facts, int(columns.elements.key[element]))
    return columns.row_of(element), key, columns.value_of(element)


CHECKERS = (
    Checker(
        name="lost-append",
        about="An acknowledged append is missing from the final read of its list.",
        look=of_facts(lost_appends),
        rows=(
            *LOSS,
            never("With acks=all and clean elections an acknowledged append stays in its list."),
        ),
        needs=frozenset({Need.READ_BACK}),
    ),
    Checker(
        name="phantom-append",
        about="A list holds a value that no process appended.",
        look=of_facts(phantom_appends),
        rows=(never("A list holds only values that were appended to it."),),
        stands=True,
    ),
)
