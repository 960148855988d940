"""Transactions: where our coordinator answers something else on purpose."""

from __future__ import annotations

from tests.differential.judge import Intended, Kind

_SINCE_5 = range(5, 6)
_ABORTED = (
    "A commit finds that the coordinator has aborted the transaction. Kafka 4.3.1 answers with an"
    " error that ends the client; our broker says that the producer is fenced (KAFKA-20785)."
)

ENTRIES = tuple(
    Intended(
        "end_txn", "error_code", _ABORTED, Kind.TRANSACTIONS, step, _SINCE_5,
        kafka="INVALID_TXN_STATE", ours="PRODUCER_FENCED",
    )
    for step in ("of_a_transaction/the other after False", "after_a_timeout/commit True")
)  # fmt: skip
