"""Changes of the metadata as records of a log: JSON in record batches of Kafka's form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from struct import Struct

from broker.metadata.changes import Change, from_json, to_json
from broker.protocol.batch import CONTROL, BatchHeader, CorruptBatchError
from broker.protocol.records import Record, build_batch, iterate_records

LEADER_CHANGE = 2
SNAPSHOT_FOOTER = 4
"""Kafka's numbers for the control records that open a leader's epoch, and that end a snapshot."""

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
    return _control_batch(LEADER_CHANGE, value, time_ms)


def snapshot_footer_batch(time_ms: int) -> bytearray:
    return _control_batch(SNAPSHOT_FOOTER, b"{}", time_ms)


def is_snapshot_footer(batch: memoryview, header: BatchHeader) -> bool:
    key = _CONTROL_KEY.pack(0, SNAPSHOT_FOOTER)
    return header.is_control and any(
        record.key == key for record in iterate_records(batch, header, max_bytes=_BATCH_BYTES_MAX)
    )


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


def voters_of(batch: memoryview, header: BatchHeader) -> tuple[int, ...] | None:
    """Among whom the leader was elected whose epoch the batch opens; None for any other batch."""
    if not header.is_control:
        return None
    key = _CONTROL_KEY.pack(0, LEADER_CHANGE)
    for record in iterate_records(batch, header, max_bytes=_BATCH_BYTES_MAX):
        if record.key == key:
            return tuple(int(each) for each in json.loads(record.value or b"")["voters"])
    return None


def _control_batch(kind: int, value: bytes, time_ms: int) -> bytearray:
    record = Record(0, time_ms, _CONTROL_KEY.pack(0, kind), value)
    return build_batch([record], attributes=CONTROL)


def _dump(plain: object) -> bytes:
    return json.dumps(plain, separators=(",", ":"), sort_keys=True).encode()
