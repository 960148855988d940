"""How batches and records look in `broker dump-log`: Kafka's words for their fields."""

from __future__ import annotations

import json

from broker.cli.dump_coordinators import decoded
from broker.protocol.batch import BatchHeader
from broker.protocol.control import read_marker
from broker.protocol.records import Record

_CODECS = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}


def batch_fields(header: BatchHeader) -> dict[str, object]:
    return {
        "baseOffset": header.base_offset,
        "lastOffset": header.last_offset,
        "count": header.record_count,
        "baseSequence": header.base_sequence,
        "producerId": header.producer_id,
        "producerEpoch": header.producer_epoch,
        "partitionLeaderEpoch": header.leader_epoch,
        "isTransactional": header.is_transactional,
        "isControl": header.is_control,
        "deleteHorizonMs": header.delete_horizon_ms,
        "maxTimestamp": header.max_timestamp,
        "timestampType": "LogAppendTime" if header.timestamp_type else "CreateTime",
        "compression": _CODECS.get(header.codec, f"unknown codec {header.codec}"),
        "size": header.size,
        "crc": header.crc,
    }


def record_fields(record: Record, header: BatchHeader, topic: str) -> dict[str, object]:
    fields: dict[str, object] = {"offset": record.offset, "timestamp": record.timestamp}
    marker = read_marker(record) if header.is_control else None
    if marker is not None:
        fields["endTxnMarker"] = "COMMIT" if marker.committed else "ABORT"
        fields["coordinatorEpoch"] = marker.coordinator_epoch
        return fields
    content = decoded(topic, record.key, record.value)
    key, value = content or (_text(record.key), _text(record.value))
    fields["key"] = key
    fields["value"] = value
    fields["headers"] = {_text(name) or "": _text(value) for name, value in record.headers}
    return fields


def shown(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _text(content: bytes | None) -> str | None:
    """Text where it is text; what is none is shown byte by byte, and can be told from text."""
    if content is None:
        return None
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = None
    if text is not None and text.isprintable():
        return text
    return "0x" + content.hex()
