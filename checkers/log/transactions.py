"""hanging-transaction: the last stable offset stays behind when no transaction is open any more.

A transaction whose end is unknown, or that its client left open, may be open until the coordinator
ends it. So an answer about the offsets of a log counts if it was asked for after that time; one
that has the two offsets equal counts at any time after the last transaction.
"""

from __future__ import annotations

import numpy as np

from checkers.checker import Checker, of_facts
from checkers.clauses import LOSS, never
from checkers.columns import INFO, OK
from checkers.findings import SHOWN, Finding, Findings
from checkers.log.facts import LogFacts
from checkers.log.transaction_rows import timeouts_ms, transaction_rows
from checkers.log.words import key_text, who
from harness.history import kinds

_MS = 1_000_000
_TIMEOUT_MS = 60_000
"""Kafka's own transaction.timeout.ms, where the history does not say which one was used."""
_LOOKED_FOR_MS = 12_000
"""Coordinators look every 10 s for transactions whose time is up, and then write markers."""
EXPIRY_NS = (_TIMEOUT_MS + _LOOKED_FOR_MS) * _MS
"""By then the coordinator has ended what a client left open."""


def hanging_transactions(facts: LogFacts) -> Findings:
    """By the last answer for each key, if it was asked for when all had ended, and those whose end
    is unknown had timed out."""
    columns, elements = facts.columns, facts.columns.elements
    # An empty part of an answer is an element without a key.
    stable = facts.of_kind(kinds.STABLE)
    stable = stable[elements.key[stable] >= 0]
    stable = stable[columns.outcome[elements.op[stable]] == OK]
    last = {int(elements.key[element]): int(element) for element in stable}
    high = {
        (int(elements.op[element]), int(elements.key[element])): int(elements.offset[element])
        for element in facts.of_kind(kinds.HIGH)
    }
    quiet_row, quiet_ns = _quiet(facts)
    found: list[Finding] = []
    looked_at = 0
    for key, element in sorted(last.items()):
        row = int(elements.op[element])
        call = int(columns.call[row])
        if call < quiet_row or (row, key) not in high:
            continue
        at, end = int(elements.offset[element]), high[row, key]
        if at < end and columns.ops.time_ns[call] < quiet_ns:
            continue
        looked_at += 1
        if at < end:
            found.append(
                Finding(
                    type="hanging-transaction",
                    ops=(columns.index_of(row),),
                    because=(
                        f"no transaction was open when {who(facts, row)} requested the "
                        f"offsets of {key_text(facts, key)}: last stable offset {at}, end "
                        f"offset {end}"
                    ),
                    witness={"key": columns.key_of(key), "stable": at, "high": end},
                )
            )
    return Findings(
        found=tuple(found[:SHOWN]),
        count=len(found),
        looked_at=looked_at,
        nothing="no process requested the last stable offset after the last transaction ended",
    )


def _quiet(facts: LogFacts) -> tuple[int, int]:
    """The row and the time from which on no transaction can be open."""
    columns = facts.columns
    rows = np.flatnonzero(columns.has_f("txn", "transform") & (columns.outcome > 0))
    unknown = rows[columns.outcome[rows] == INFO]
    left = [each.row for each in transaction_rows(facts) if each.end == "left"]
    last_row = int(rows[-1]) if rows.size else -1
    still_open = [*unknown.tolist(), *left]
    if not still_open:
        return last_row, -(1 << 62)
    expiry_ms = max(timeouts_ms(facts), default=_TIMEOUT_MS) + _LOOKED_FOR_MS
    return last_row, int(columns.ops.time_ns[still_open].max()) + expiry_ms * _MS


CHECKERS = (
    Checker(
        name="hanging-transaction",
        about="The last stable offset is below the end offset while no transaction is open.",
        look=of_facts(hanging_transactions),
        rows=(
            *LOSS,
            never(
                "The last stable offset reaches the end offset once every transaction has ended."
            ),
        ),
        model="kafka",
    ),
)
