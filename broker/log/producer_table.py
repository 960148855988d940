"""All producers of one partition: who wrote what, and which transactions are open."""

from __future__ import annotations

from collections.abc import Iterable

from broker.log.origin import Origin
from broker.log.producer_state import (
    EndedTransaction,
    Producer,
    WrittenBatch,
    after_data,
    after_marker,
)
from broker.log.txn_index import AbortedTransaction
from broker.protocol.batch import CONTROL, BatchHeader
from broker.protocol.control import EndTransactionMarker

Step = tuple[Producer, int | None, EndedTransaction | None]
"""One batch: what becomes of its producer, where it opens a transaction, which one it ends."""


class ProducerTable:
    """`end_offset` is how much of the log this table has seen."""

    __slots__ = ("_open", "_undecided_above", "end_offset", "producers")

    def __init__(self, producers: Iterable[Producer] = (), end_offset: int = 0) -> None:
        self.producers: dict[int, Producer] = {p.producer_id: p for p in producers}
        self.end_offset = end_offset
        # Transactions begin at rising offsets, so the first key is the earliest open one.
        self._open: dict[int, int] = {}
        for first, producer_id in sorted(
            (p.txn_first_offset, p.producer_id)
            for p in self.producers.values()
            if p.txn_first_offset is not None
        ):
            self._open[first] = producer_id
        # Ended, but the marker is not replicated yet: a new leader may not have it.
        self._undecided_above: list[EndedTransaction] = []

    @property
    def open_transactions(self) -> dict[int, int]:
        """Producer ids by the first offset of their open transaction, earliest first."""
        return dict(self._open)

    @property
    def oldest_open(self) -> Producer | None:
        """The producer of the earliest open transaction."""
        producer_id = next(iter(self._open.values()), None)
        return None if producer_id is None else self.producers.get(producer_id)

    @property
    def has_unstable(self) -> bool:
        """Whether a transaction is open, or its end not known to be replicated."""
        return bool(self._open or self._undecided_above)

    def find_duplicate(self, header: BatchHeader) -> WrittenBatch | None:
        producer = self.producers.get(header.producer_id)
        return producer.find_duplicate(header) if producer else None

    def plan(
        self,
        batches: Iterable[tuple[BatchHeader, int, EndTransactionMarker | None]],
        seen_ms: int,
        origin: Origin,
    ) -> list[Step]:
        """What these batches at these base offsets will do; changes nothing."""
        steps: list[Step] = []
        changed: dict[int, Producer] = {}
        for header, base_offset, marker in batches:
            producer_id = header.producer_id
            if producer_id < 0:
                continue
            before = changed.get(producer_id) or self.producers.get(producer_id)
            if header.attributes & CONTROL:
                if marker is None:
                    continue
                after, ended = after_marker(before, header, marker, base_offset, seen_ms, origin)
                steps.append((after, None, ended))
            else:
                after = after_data(before, header, base_offset, seen_ms, origin)
                was_open = before is not None and before.txn_first_offset is not None
                steps.append((after, None if was_open else after.txn_first_offset, None))
            changed[producer_id] = after
        return steps

    def apply(self, steps: list[Step]) -> list[AbortedTransaction]:
        """Carries the plan out. Returns what belongs into the index of aborted transactions."""
        aborted: list[AbortedTransaction] = []
        for producer, opened, ended in steps:
            self.producers[producer.producer_id] = producer
            if opened is not None:
                self._open[opened] = producer.producer_id
            if ended is not None:
                self._open.pop(ended.first_offset, None)
                self._undecided_above.append(ended)
                if not ended.committed:
                    first, last = ended.first_offset, ended.last_offset
                    stable = next(iter(self._open), last + 1)
                    aborted.append(AbortedTransaction(ended.producer_id, first, last, stable))
        return aborted

    def first_unstable_offset(self, high_watermark: int) -> int | None:
        """The first offset of the earliest transaction whose end is not replicated."""
        first = next(iter(self._open), None)
        if self._undecided_above:
            self._undecided_above = [
                ended for ended in self._undecided_above if ended.last_offset >= high_watermark
            ]
            for ended in self._undecided_above:
                if first is None or ended.first_offset < first:
                    first = ended.first_offset
        return first

    def recall_undecided(self, replayed: ProducerTable, high_watermark: int) -> None:
        """From a table that saw the log from the high watermark on, or from before it."""
        self._undecided_above = [
            ended for ended in replayed._undecided_above if ended.last_offset >= high_watermark
        ]

    def expire(self, now_ms: int, expiration_ms: int) -> int:
        """Forgets producers that were silent for too long; never one with an open transaction.

        Nor one whose last marker is not replicated: whether there is any is asked of the table.
        """
        undecided = {ended.producer_id for ended in self._undecided_above}
        silent = [
            p.producer_id
            for p in self.producers.values()
            if p.txn_first_offset is None
            and now_ms - p.seen_ms >= expiration_ms
            and p.producer_id not in undecided
        ]
        for producer_id in silent:
            del self.producers[producer_id]
        return len(silent)
