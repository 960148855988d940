"""The one record batch that a produce request has for a partition."""

from __future__ import annotations

from struct import Struct

from broker.protocol import messages as m
from broker.protocol.batch import MAGIC, PREFIX_SIZE, SMALLEST_LENGTH, TRANSACTIONAL
from broker.protocol.errors import ErrorCode, KafkaError

_FIRST_VERSION_WITH_ZSTD = 7
_ZSTD = 4
_LENGTH_AND_MAGIC = Struct(">i4xb")
_LENGTH_AT = PREFIX_SIZE - 4
_UP_TO_MAGIC = 17
_SMALLEST_MESSAGE = 14
"""Of the formats before batches: CRC, magic, attributes and two lengths."""

_ATTRIBUTES = Struct(">h")
_ATTRIBUTES_AT = 21


def one_batch(
    records: m.Records | None, version: int, transactional_id: str | None = None
) -> memoryview:
    """What only the request knows to be wrong; the rest is for the log to judge."""
    if not isinstance(records, memoryview) or len(records) < _UP_TO_MAGIC:
        raise KafkaError(ErrorCode.INVALID_RECORD, "there is no record batch in the request")
    length, magic = _LENGTH_AND_MAGIC.unpack_from(records, _LENGTH_AT)
    if PREFIX_SIZE + length != len(records) or magic != MAGIC or length < SMALLEST_LENGTH:
        raise _not_one_batch(length, magic, len(records))
    (attributes,) = _ATTRIBUTES.unpack_from(records, _ATTRIBUTES_AT)
    if attributes & TRANSACTIONAL and transactional_id is None:
        raise KafkaError(
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            "a transactional batch needs a request with a transactional id",
        )
    if version < _FIRST_VERSION_WITH_ZSTD and attributes & 7 == _ZSTD:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd needs version 7 of the produce request"
        )
    return records


def _not_one_batch(length: int, magic: int, size: int) -> KafkaError:
    """Why the bytes are not one whole batch.

    The code matters: clients send again what is corrupt, and give up on what is invalid.
    """
    if length < _SMALLEST_MESSAGE:
        return KafkaError(ErrorCode.CORRUPT_MESSAGE, f"a batch cannot be {length} bytes long")
    if magic in (0, 1):
        return KafkaError(
            ErrorCode.INVALID_RECORD, f"messages with magic {magic} are not taken; send magic 2"
        )
    if magic != MAGIC:
        return KafkaError(ErrorCode.CORRUPT_MESSAGE, f"a batch cannot have magic {magic}")
    if PREFIX_SIZE + length > size:
        return KafkaError(
            ErrorCode.INVALID_RECORD, f"the batch takes {PREFIX_SIZE + length} bytes, got {size}"
        )
    if length < SMALLEST_LENGTH:
        return KafkaError(ErrorCode.CORRUPT_MESSAGE, f"a batch cannot be {length} bytes long")
    return KafkaError(
        ErrorCode.INVALID_RECORD, "a produce request holds one record batch per partition"
    )
