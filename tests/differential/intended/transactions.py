"""Transactions: where our coordinator answers something else on purpose."""

from __future__ import annotations

from tests.differential.judge import Intended, Kind

_SINCE_5 = range(5, 6)
_ABORTED = (
    "A commit finds that the coordinator has aborted the transaction. Kafka 4.3.1 answers with an"
    " error that ends the client; our broker says that the producer is fenced (KAFKA-20785)."
)

_USED_AGAIN = (
    "A transactional batch with the sequence number of an aborted one is refused. Kafka takes it"
    " for a retry, and acknowledges a record that nobody will read."
)

_EPOCH_OF_MARKERS = (
    "The coordinator has aborted the transaction of a producer that goes on. Kafka gives it the"
    " epoch of the abort's markers; our broker gives it the next one, so that no marker that comes"
    " late can end its next transaction."
)

ENTRIES = tuple(
    Intended(
        "end_txn", "error_code", _ABORTED, Kind.TRANSACTIONS, step, _SINCE_5,
        kafka="INVALID_TXN_STATE", ours="PRODUCER_FENCED",
    )
    for step in ("of_a_transaction/the other after False", "after_a_timeout/commit True")
) + tuple(
    Intended(
        "transactional_produce", f"responses[*].partition_responses[*].{field}", _USED_AGAIN,
        Kind.TRANSACTIONS, "a_sequence_that_was_aborted/the same sequence", range(3, 12),
        kafka=kafka, ours=ours,
    )
    for field, kafka, ours in (
        ("error_code", "NONE", "OUT_OF_ORDER_SEQUENCE_NUMBER"),
        ("base_offset", 0, -1),
        ("log_append_time_ms", "<time>", -1),
    )
) + tuple(
    Intended(
        "init_transactional", "producer_epoch", _EPOCH_OF_MARKERS, Kind.TRANSACTIONS, step,
        range(3, 6), kafka=kafka, ours=kafka + 1,
    )
    for step, kafka in (
        ("during_its_own_transaction/its own epoch", 1),
        ("during_its_own_transaction/the next one", 2),
        ("after_a_timeout/with its epoch", 1),
        ("after_a_timeout/a new one", 2),
    )
)  # fmt: skip
