"""Changes of the metadata as records of a log: JSON in record batches of Kafka's form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from struct import Struct

from broker.metadata.changes import Change, from_json, to_json
from broker.protocol.batch import CONTROL, BatchHeader, CorruptBatchError
from broker.protocol.records import Record, build_batch, iterate_records

LEADER_CHANGE = 2
"""Kafka's number for the control record that opens a leader's epoch."""

_CONTROL_KEY = Struct(">hh")
_BATCH_BYTES_MAX = 64 << 20


def change_batch(changes: Iterable[Change], time_ms: int) -> bytearray:
    """One batch: of its changes all are applied or none."""
    records = [
        Record(offset, time_ms, None, _dump(to_json(change)))
        for offset, change in enumerate(changes)
    ]
    return build_batch(records)


def leader_change_batch(leader_id: int, voters: Sequence[int], time_ms: int) -> bytearray:
    value = _dump({"leader": leader_id, "voters": list(voters)})
    record = Record(0, time_ms, _CONTROL_KEY.pack(0, LEADER_CHANGE), value)
    return build_batch([record], attributes=CONTROL)


def changes_of(batch: memoryview, header: BatchHeader) -> list[Change]:
    """None for a control batch, which says something about the log and not about the cluster."""
    if header.is_control:
        return []
    try:
        return [
            from_json(json.loads(record.value or b""))
            for record in iterate_records(batch, header, max_bytes=_BATCH_BYTES_MAX)
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptBatchError(
            f"the batch at offset {header.base_offset} holds no change that is known: {error}"
        ) from error


def _dump(plain: object) -> bytes:
    return json.dumps(plain, separators=(",", ":"), sort_keys=True).encode()
