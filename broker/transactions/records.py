"""Keys and values of `__transaction_state` as bytes, and back: byte for byte what Kafka writes."""

from __future__ import annotations

from struct import Struct

from broker.coordination.step import CoordinatorRecord
from broker.protocol import codec
from broker.protocol import messages as m
from broker.protocol.errors import MalformedMessageError
from broker.transactions.state import TransactionState
from broker.transactions.transaction import NO_EPOCH, NO_PRODUCER_ID, Transaction

_KEY, _VALUE = "TransactionLogKey", "TransactionLogValue"
_KEY_VERSION = 0
_VALUE_VERSION = 1
"""What Kafka writes from transaction version 1 on. Version 0 has no tagged fields, and is read."""

_VERSION = Struct(">h")


def record(transaction: Transaction) -> CoordinatorRecord:
    value = m.TransactionLogValue(
        producer_id=transaction.producer_id,
        previous_producer_id=transaction.previous_producer_id,
        next_producer_id=transaction.next_producer_id,
        producer_epoch=transaction.producer_epoch,
        next_producer_epoch=NO_EPOCH,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state,
        transaction_partitions=_partitions(transaction),
        transaction_last_update_timestamp_ms=transaction.updated_ms,
        transaction_start_timestamp_ms=transaction.start_ms,
        client_transaction_version=transaction.client_version,
    )
    encoded = b"".join(codec.encoder(_VALUE, _VALUE_VERSION)(value))
    return CoordinatorRecord(
        _key(transaction.transactional_id), _VERSION.pack(_VALUE_VERSION) + encoded
    )


def tombstone(transactional_id: str) -> CoordinatorRecord:
    """Ends a transactional id."""
    return CoordinatorRecord(_key(transactional_id), None)


def decode_key(key: bytes) -> str:
    """The transactional id. Raises MalformedMessageError."""
    version = _version_of(key)
    if version != _KEY_VERSION:
        raise MalformedMessageError(f"no record of __transaction_state has the kind {version}")
    decoded, _ = codec.decoder(_KEY, version)(memoryview(key), _VERSION.size)
    found: str = decoded.transactional_id
    return found


def decode_value(transactional_id: str, value: bytes) -> Transaction:
    """Raises MalformedMessageError."""
    version = _version_of(value)
    if not 0 <= version <= _VALUE_VERSION:
        raise MalformedMessageError(f"{_VALUE} has no version {version}")
    decoded: m.TransactionLogValue
    decoded, _ = codec.decoder(_VALUE, version)(memoryview(value), _VERSION.size)
    try:
        state = TransactionState(decoded.transaction_status)
    except ValueError as problem:
        raise MalformedMessageError(str(problem)) from problem
    return Transaction(
        transactional_id=transactional_id,
        producer_id=decoded.producer_id,
        producer_epoch=decoded.producer_epoch,
        previous_producer_id=decoded.previous_producer_id if version else NO_PRODUCER_ID,
        next_producer_id=decoded.next_producer_id if version else NO_PRODUCER_ID,
        timeout_ms=decoded.transaction_timeout_ms,
        state=state,
        partitions={
            (each.topic, index): None
            for each in decoded.transaction_partitions or ()
            for index in each.partition_ids
        },
        start_ms=decoded.transaction_start_timestamp_ms,
        updated_ms=decoded.transaction_last_update_timestamp_ms,
        client_version=decoded.client_transaction_version,
    )


def _key(transactional_id: str) -> bytes:
    key = m.TransactionLogKey(transactional_id=transactional_id)
    return _VERSION.pack(_KEY_VERSION) + b"".join(codec.encoder(_KEY, _KEY_VERSION)(key))


def _partitions(transaction: Transaction) -> list[m.TransactionLogPartitions] | None:
    if transaction.state is TransactionState.EMPTY:
        return None
    by_topic: dict[str, list[int]] = {}
    for topic, index in transaction.partitions:
        by_topic.setdefault(topic, []).append(index)
    return [
        m.TransactionLogPartitions(topic=topic, partition_ids=indexes)
        for topic, indexes in by_topic.items()
    ]


def _version_of(data: bytes) -> int:
    if len(data) < _VERSION.size:
        raise MalformedMessageError(f"{len(data)} bytes cannot hold a version")
    (version,) = _VERSION.unpack_from(data)
    return int(version)
