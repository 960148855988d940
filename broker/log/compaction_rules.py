"""Which batches and records survive a compaction. Pure: headers and keys in, decisions out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from broker.log.compaction_keys import LastOffsets
from broker.log.compaction_transactions import TransactionsSeen
from broker.log.producer_state import Producer
from broker.log.txn_index import AbortedTransaction
from broker.protocol.batch import BatchHeader
from broker.protocol.control import EndTransactionMarker
from broker.protocol.records import RecordExtent


class IfEmpty(Enum):
    """What becomes of a batch that keeps no record."""

    DROP = "drop"
    KEEP_PRODUCER = "keep the header: it has the last sequence number of a producer"
    KEEP_OFFSET = "keep a bare header: nothing else tells where the segment ends"


class Verdict(NamedTuple):
    keeps_records: bool
    """False: none. True: all of a marker's, and of data those that `keeps_record` says."""

    if_empty: IfEmpty
    is_spent_marker: bool = False
    aborted: AbortedTransaction | None = None
    """Goes into the index of the new segment, together with its marker."""


@dataclass(slots=True, kw_only=True)
class Rules:
    """One pass over one log."""

    keys: LastOffsets
    transactions: TransactionsSeen
    producers: Mapping[int, Producer]
    now_ms: int
    delete_retention_ms: int
    removable_below: int
    """Tombstones and markers from this offset on stay, however old: a replica may lack them."""

    def judge(
        self, header: BatchHeader, marker: EndTransactionMarker | None, *, ends_segment: bool
    ) -> Verdict:
        """To be asked once for every batch, in the order of the log."""
        if_empty = IfEmpty.DROP
        if self._has_last_sequence(header):
            if_empty = IfEmpty.KEEP_PRODUCER
        elif ends_segment:
            if_empty = IfEmpty.KEEP_OFFSET
        if not header.is_control:
            is_aborted = self.transactions.see_data(header)
            return Verdict(not is_aborted and header.record_count > 0, if_empty)
        if marker is None:
            # Emptied by an earlier pass, or of a kind that has nothing to do with transactions.
            return Verdict(header.record_count > 0, if_empty)
        is_spent, aborted = self.transactions.see_marker(header)
        # Without its record a marker would tell nothing about the epoch of its producer.
        is_needed = if_empty is IfEmpty.KEEP_PRODUCER
        is_gone = is_spent and not is_needed and self._is_past_horizon(header)
        return Verdict(not is_gone, if_empty, is_spent and not is_gone, aborted)

    def keeps_record(self, header: BatchHeader, record: RecordExtent) -> bool:
        offset = header.base_offset + record.offset_delta
        if offset > self.keys.latest:
            return True
        if record.key is None or offset < self.keys.last_offset(record.key):
            return False
        return record.has_value or not self._is_past_horizon(header)

    def new_horizon_ms(
        self, header: BatchHeader, *, has_tombstones: bool, is_spent_marker: bool
    ) -> int | None:
        """KIP-534: the clock of a tombstone starts in the pass that makes its batch clean."""
        if header.has_delete_horizon or header.last_offset > self.keys.latest:
            return None
        if not (has_tombstones or is_spent_marker):
            return None
        return self.now_ms + self.delete_retention_ms

    def _is_past_horizon(self, header: BatchHeader) -> bool:
        horizon_ms = header.delete_horizon_ms
        return (
            horizon_ms is not None
            and horizon_ms <= self.now_ms
            and header.last_offset < self.removable_below
        )

    def _has_last_sequence(self, header: BatchHeader) -> bool:
        """The batch from which a replay of the log learns where its producer stands."""
        producer = self.producers.get(header.producer_id)
        if producer is None:
            return False
        if producer.window:
            return header.last_offset == producer.window[-1].last_offset
        return header.is_control and header.producer_epoch == producer.epoch
