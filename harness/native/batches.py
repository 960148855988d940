"""How our own client puts the records of one send together into batches."""

from __future__ import annotations

from collections.abc import Mapping

from harness.client.driver import Place, ToStore

_RECORD_BYTES = 8
"""Numbers and lengths of a record, beside its key and value."""


def batches_of(records: Mapping[int, ToStore], batch_bytes: int) -> list[tuple[Place, list[int]]]:
    """The records of each partition in batches, by their numbers, in the order of the calls."""
    batches: list[tuple[Place, list[int]]] = []
    open_ones: dict[Place, tuple[list[int], int]] = {}
    for at, (place, key, payload, _) in records.items():
        size = _RECORD_BYTES + len(key or b"") + len(payload or b"")
        partition = place._replace(name=None)
        batch, filled = open_ones.get(partition, ([], 0))
        if not batch or filled + size > batch_bytes:
            batch, filled = [], 0
            batches.append((partition, batch))
        batch.append(at)
        open_ones[partition] = (batch, filled + size)
    return batches
