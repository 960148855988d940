"""Which transactional batches were aborted, and which markers still have data to decide about.

One of these sees all batches of a log in order, from its beginning: a transaction may begin in one
segment and end in another that is rewritten much later (KAFKA-8351).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from broker.log.txn_index import AbortedTransaction
from broker.protocol.batch import BatchHeader


class TransactionsSeen:
    __slots__ = ("_aborted", "_decided_by_commit", "_with_data")

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._aborted: dict[int, list[AbortedTransaction]] = {}
        for transaction in sorted(set(aborted), key=lambda entry: entry.first_offset):
            self._aborted.setdefault(transaction.producer_id, []).append(transaction)
        self._with_data: set[AbortedTransaction] = set()
        self._decided_by_commit: set[int] = set()

    def see_data(self, header: BatchHeader) -> bool:
        """Whether the batch belongs to an aborted transaction.

        An emptied batch counts as data, too: it opens its transaction when the log is replayed,
        so the marker that ends it has to stay.
        """
        if not header.is_transactional:
            return False
        transaction = self._find(header)
        if transaction is None:
            self._decided_by_commit.add(header.producer_id)
            return False
        self._with_data.add(transaction)
        return True

    def see_marker(self, header: BatchHeader) -> tuple[bool, AbortedTransaction | None]:
        """Whether no data are left for the marker to decide about, and what it aborted if not."""
        transaction = self._find(header)
        has_data = header.producer_id in self._decided_by_commit
        self._decided_by_commit.discard(header.producer_id)
        if transaction in self._with_data:
            return False, transaction
        return not has_data, None

    def _find(self, header: BatchHeader) -> AbortedTransaction | None:
        entries = self._aborted.get(header.producer_id)
        if not entries:
            return None
        before = bisect_right(entries, header.base_offset, key=lambda entry: entry.first_offset)
        if before and header.base_offset <= entries[before - 1].last_offset:
            return entries[before - 1]
        return None
