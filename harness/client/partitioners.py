"""How a client chooses the partition of a record by its key.

Libraries do not agree: the default of librdkafka is the CRC-32 of the key (`consistent_random`),
that of Kafka's Java client and of aiokafka is murmur2. Two producers with different partitioners
put the same key into different partitions. All of them take the hash modulo the number of
partitions, so a key may move when partitions are added.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from zlib import crc32

from harness.client.base import Partitioner

CUSTOM = "custom"
_MULTIPLIER = 0x5BD1E995
_SEED = 0x9747B28C
_SHIFT = 24
_MASK = 0xFFFFFFFF


def murmur2(key: bytes) -> int:
    """The 32-bit hash of Kafka's Java client, unsigned."""
    whole = len(key) & ~3
    state = (_SEED ^ len(key)) & _MASK
    for at in range(0, whole, 4):
        word = int.from_bytes(key[at : at + 4], "little") * _MULTIPLIER & _MASK
        word = (word ^ word >> _SHIFT) * _MULTIPLIER & _MASK
        state = state * _MULTIPLIER & _MASK ^ word
    if whole < len(key):
        state = (state ^ int.from_bytes(key[whole:], "little")) * _MULTIPLIER & _MASK
    state = (state ^ state >> 13) * _MULTIPLIER & _MASK
    return state ^ state >> 15


def by_murmur2(key: bytes, partitions: int) -> int:
    return (murmur2(key) & 0x7FFFFFFF) % partitions


def by_crc32(key: bytes, partitions: int) -> int:
    return crc32(key) % partitions


def by_number(key: bytes, partitions: int) -> int:
    """Our custom partitioner: the number at the end of the key, as an application might do it."""
    return int(key.lstrip(b"abcdefghijklmnopqrstuvwxyz") or b"0") % partitions


BY_NAME: Mapping[str, Callable[[bytes, int], int]] = {
    "consistent": by_crc32,
    "consistent_random": by_crc32,
    "murmur2": by_murmur2,
    "murmur2_random": by_murmur2,
    CUSTOM: by_number,
}
"""By the names that histories use: librdkafka's, `murmur2` for other clients, and `custom`."""

LIBRDKAFKA: Mapping[Partitioner, str] = {
    "default": "consistent_random",
    "murmur2": "murmur2_random",
    "custom": CUSTOM,
}
OTHERS: Mapping[Partitioner, str] = {
    "default": "murmur2",
    "murmur2": "murmur2",
    "custom": CUSTOM,
}
"""Names of aiokafka's and of our own client."""
