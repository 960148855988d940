"""Whether a late request explains an anomaly of a transaction: then another row of the contract.

Under the classic protocol of transactions (1) all transactions of a producer have one epoch. A
Produce or EndTxn that the client has given up may still arrive, and then it is taken for a request
of the producer's next transaction: it ends that one, or adds a record to it (KAFKA-17754). Protocol
2 bumps the epoch with every transaction, so such a request is refused.

A late request is possible if, by the steps that the history has of its transactions, the producer
was left without an answer before: a step timed out, lost its connection, or took so long that the
library has sent its request again.
"""

from __future__ import annotations

from checkers.contract import Clause, Promise
from checkers.log.facts import LogFacts
from checkers.log.transaction_rows import TransactionRow, transaction_rows

LATE_REQUEST = "late-request"
_CLASSIC = 1
_UNANSWERED_MS = 1_900
"""Just below request.timeout.ms of our clients: after that a library sends a request again."""
_UNANSWERED = frozenset(
    {
        *("_TIMED_OUT", "_MSG_TIMED_OUT", "_TRANSPORT"),
        *("REQUEST_TIMED_OUT", "NETWORK_EXCEPTION"),
    }
)
CLASSIC_ROW = Clause(
    "transaction protocol 1, and a request of the producer went unanswered before",
    lambda _: True,
    Promise.ALLOWED,
    (
        "Under transaction protocol 1 a delayed Produce or EndTxn may hit the producer's next "
        "transaction (KAFKA-17754); protocol 2 refuses it."
    ),
)


def row_of_late_request(facts: LogFacts, writer: int) -> str:
    """The row of the contract for an anomaly of this operation's transaction; empty if it is that
    of the anomaly itself."""
    columns = facts.columns
    process = int(columns.ops.process[writer])
    for each in transaction_rows(facts):
        if each.process == process and each.row <= writer and _may_be_late(each):
            return LATE_REQUEST
    return ""


def _may_be_late(transaction: TransactionRow) -> bool:
    return transaction.protocol == _CLASSIC and any(
        answer in _UNANSWERED or taken_ms >= _UNANSWERED_MS
        for _, answer, taken_ms in transaction.steps
    )
