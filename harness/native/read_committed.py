"""Leaves out the records of aborted transactions, as a read_committed consumer does.

The broker sends all batches below the last stable offset, those of aborted transactions among them,
and names each aborted transaction by its producer and its first offset. From that offset on the
producer's transactional batches are dropped, up to its next ABORT marker.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from harness.native.records import ReadBatch


class AbortedTransaction(NamedTuple):
    producer_id: int
    first_offset: int


def without_aborted(
    batches: Iterable[ReadBatch], aborted: Sequence[AbortedTransaction]
) -> tuple[ReadBatch, ...]:
    """The same batches; those of aborted transactions have no records left."""
    waiting = sorted(aborted, key=lambda each: each.first_offset, reverse=True)
    aborting: set[int] = set()
    found = []
    for batch in batches:
        header = batch.header
        while waiting and waiting[-1].first_offset <= header.last_offset:
            aborting.add(waiting.pop().producer_id)
        if batch.marker is not None and not batch.marker.committed:
            aborting.discard(header.producer_id)
        is_aborted = header.is_transactional and header.producer_id in aborting
        found.append(replace(batch, records=()) if is_aborted else batch)
    return tuple(found)
