"""Records of `__consumer_offsets` and `__transaction_state` in `broker dump-log`, decoded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from broker.groups import records as group_records
from broker.metadata.internal_topics import GROUPS_TOPIC, TRANSACTIONS_TOPIC
from broker.protocol.errors import MalformedMessageError
from broker.transactions import records as transaction_records

Decoded = tuple[object, object]
"""The key and the value of a record, as values that JSON has; the value of a tombstone is None."""


def decoded(topic: str, key: bytes | None, value: bytes | None) -> Decoded | None:
    """None for a record of another topic, and for one that cannot be decoded: its bytes are then
    all that is known of it."""
    decode = _DECODERS.get(topic)
    if decode is None or key is None:
        return None
    try:
        return decode(key, value)
    except MalformedMessageError:
        return None


def _of_groups(key: bytes, value: bytes | None) -> Decoded:
    kind, name = group_records.decode_key(key)
    content = None if value is None else _plain(group_records.decode_value(kind, value))
    return {"type": type(name).__name__.removesuffix("Key"), **_plain(name)}, content


def _of_transactions(key: bytes, value: bytes | None) -> Decoded:
    transactional_id = transaction_records.decode_key(key)
    name = {"type": "TransactionLog", "transactionalId": transactional_id}
    if value is None:
        return name, None
    found = transaction_records.decode_value(transactional_id, value)
    return name, {
        "state": found.state.label,
        "producerId": found.producer_id,
        "producerEpoch": found.producer_epoch,
        "previousProducerId": found.previous_producer_id,
        "nextProducerId": found.next_producer_id,
        "timeoutMs": found.timeout_ms,
        "partitions": [f"{topic}-{index}" for topic, index in found.partitions],
        "startMs": found.start_ms,
        "updatedMs": found.updated_ms,
        "clientTransactionVersion": found.client_version,
    }


_DECODERS: Mapping[str, Callable[[bytes, bytes | None], Decoded]] = {
    GROUPS_TOPIC: _of_groups,
    TRANSACTIONS_TOPIC: _of_transactions,
}


def _plain(value: Any) -> Any:
    """A message, or a part of one, by Kafka's names of its fields; bytes in hexadecimal."""
    match value:
        case bytes() | bytearray() | memoryview():
            return "0x" + bytes(value).hex()
        case list() | tuple():
            return [_plain(each) for each in value]
        case None | bool() | int() | float() | str():
            return value
        case _:
            names = getattr(type(value), "__slots__", ())
            return {_camel(name): _plain(getattr(value, name)) for name in names} or str(value)


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(each.title() for each in others)
