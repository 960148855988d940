"""unseen and torn-transaction: what was acknowledged and never read, and what was read by half."""

from __future__ import annotations

import numpy as np

from checkers.checker import Checker, Need, of_facts
from checkers.clauses import LOSS, UNCOMMITTED, WITHOUT, never
from checkers.findings import SHOWN, Finding, Findings, limited
from checkers.kernels.values import LOST, UNSEEN
from checkers.log.facts import SEND, LogFacts
from checkers.log.late_requests import CLASSIC_ROW, LATE_REQUEST, row_of_late_request
from checkers.log.words import element_of, key_text, of_number, value_text, who
from harness.history import kinds

_NO_TRANSACTIONS = "there were no transactions"
_OF_OTHERS = np.array(
    (kinds.APPEND, kinds.READ, kinds.READ_EMPTY, kinds.READ_ELEMENT, kinds.WRITE), np.int8
)


def unseen(facts: LogFacts) -> Findings:
    """One finding for each key. A record that is only late is unseen too: read to the end."""
    columns = facts.columns
    numbers = facts.marks.having(UNSEEN)
    keys = np.unique(facts.values.key[numbers]) if numbers.size else numbers

    def told(key: int) -> Finding:
        values = facts.values
        mine = numbers[values.key[numbers] == key]
        mine = mine[np.argsort(values.writer[mine], kind="stable")]
        writer = int(values.writer[mine[0]])
        first = of_number(facts, int(mine[0]))
        of = f"of {key_text(facts, key)}"
        sent = f"{value_text(first)}, which {who(facts, writer)} sent"
        because = f"1 record {of} was acknowledged and never polled: {sent}"
        if mine.size > 1:
            because = f"{mine.size} records {of} were acknowledged and never polled, the first of "
            because += f"them {sent}"
        return Finding(
            type="unseen",
            ops=(columns.index_of(writer),),
            because=because,
            witness={
                "key": columns.key_of(key),
                "unseen": int(mine.size),
                "messages": [of_number(facts, int(number)) for number in mine[:SHOWN]],
            },
        )

    return limited(
        "unseen",
        [int(key) for key in keys[:SHOWN]],
        int(numbers.size),
        looked_at=facts.marks.acked,
        nothing="no send was acknowledged",
        told=told,
    )


def torn_transactions(facts: LogFacts) -> Findings:
    """A transaction of which one record was polled, and another was read past and never seen."""
    columns = facts.columns
    is_txn = columns.has_f("txn", "transform") & (columns.outcome > 0)
    if not is_txn.any():
        return Findings(nothing=_NO_TRANSACTIONS)
    # Those of lists and registers are of other models: they have no records to be torn apart.
    of_others = np.isin(columns.elements.kind, _OF_OTHERS)
    is_txn[columns.elements.op[of_others]] = False
    values = facts.values
    torn: dict[int, tuple[int, int]] = {}
    for number in facts.marks.having(LOST):
        row = int(values.writer[number])
        if row in torn or not is_txn[row]:
            continue
        span = slice(int(facts.begin[row]), int(facts.end[row]))
        mine = facts.number[span][(facts.role_at(span) == SEND) & (facts.number[span] >= 0)]
        shown = mine[values.reader[mine] >= 0]
        if shown.size:
            torn[row] = (int(shown[0]), int(number))
    return limited(
        "torn-transaction",
        sorted(torn.items()),
        len(torn),
        looked_at=int(np.count_nonzero(is_txn)),
        nothing=_NO_TRANSACTIONS,
        told=lambda item: _torn(facts, *item),
    )


def _torn(facts: LogFacts, row: int, pair: tuple[int, int]) -> Finding:
    columns, values = facts.columns, facts.values
    shown, lost = pair
    reading = int(values.reader[shown])
    reader = columns.row_of(reading)
    missing = element_of(facts, row, lost, SEND)
    lost_key = int(columns.elements.key[missing])
    return Finding(
        type="torn-transaction",
        ops=tuple(sorted({columns.index_of(row), columns.index_of(reader)})),
        because=(
            f"of the transaction of {who(facts, row)}, {who(facts, reader)} polled "
            f"{value_text(of_number(facts, shown))} from "
            f"{key_text(facts, int(values.key[shown]))}; no poll returned "
            f"{value_text(of_number(facts, lost))} of {key_text(facts, lost_key)}, although "
            "later records were read"
        ),
        witness={
            "writer": columns.index_of(row),
            "shown": of_number(facts, shown),
            "missing": of_number(facts, lost),
            "keys": [columns.key_of(int(values.key[shown])), columns.key_of(lost_key)],
        },
        row=row_of_late_request(facts, row),
    )


CHECKERS = (
    Checker(
        name="unseen",
        about="An acknowledged record was never read.",
        look=of_facts(unseen),
        rows=(
            *LOSS,
            never(
                "With acks=all and clean elections every acknowledged record is read by the "
                "end of the run."
            ),
        ),
        needs=frozenset({Need.READ_BACK}),
        model="kafka",
    ),
    Checker(
        name="torn-transaction",
        about=(
            "One record of a transaction was read, and another one was not although later "
            "records were."
        ),
        look=of_facts(torn_transactions),
        rows=(
            UNCOMMITTED,
            WITHOUT,
            *LOSS,
            never("Either all records of a transaction are read, or none."),
        ),
        other_rows={LATE_REQUEST: (CLASSIC_ROW,)},
        model="kafka",
    ),
)
