"""Segments as a broker would store them, in a few words."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from broker.protocol.batch import TRANSACTIONAL
from broker.protocol.control import EndTransactionMarker, build_marker_batch
from broker.protocol.records import Record, build_batch
from harness.client.payload import encode


def batch(
    log: str,
    offset: int,
    *values: int,
    epoch: int = 0,
    producer: int = -1,
    codec: int = 0,
    key: bytes | None = None,
) -> bytes:
    """Of one producer; with a number, in a transaction of its."""
    records = [
        Record(offset + delta, 0, key, encode(log, value)) for delta, value in enumerate(values)
    ]
    return bytes(
        build_batch(
            records,
            leader_epoch=epoch,
            codec=codec,
            producer_id=producer,
            producer_epoch=0 if producer >= 0 else -1,
            attributes=TRANSACTIONAL if producer >= 0 else 0,
        )
    )


def marker(offset: int, producer: int, *, committed: bool) -> bytes:
    return bytes(
        build_marker_batch(
            EndTransactionMarker(committed, 0),
            producer_id=producer,
            producer_epoch=0,
            time_ms=0,
            base_offset=offset,
            leader_epoch=0,
        )
    )


def write(directory: Path, node: str, log: str, batches: Iterable[bytes], base: int = 0) -> None:
    folder = directory / node / log
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{base:020}.log").write_bytes(b"".join(batches))
