"""The last offset of every key in the dirty part of a log."""

from __future__ import annotations

from hashlib import blake2b

SHORT_KEY = 16
BYTES_PER_KEY = 200
"""What an entry costs in memory, roughly; it turns a buffer size into a number of keys."""


class LastOffsets:
    """Long keys are kept as digests, so memory depends on the number of keys only."""

    __slots__ = ("_offsets", "latest", "max_keys")

    def __init__(self, max_keys: int) -> None:
        self.max_keys = max_keys
        self.latest = -1
        """The last offset that was looked at. Nothing is known about what follows it."""

        self._offsets: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._offsets)

    def has_room_for(self, count: int) -> bool:
        return len(self._offsets) + count <= self.max_keys

    def put(self, key: bytes, offset: int) -> None:
        self._offsets[_name(key)] = offset

    def last_offset(self, key: bytes) -> int:
        """-1 when the key does not occur."""
        return self._offsets.get(_name(key), -1)


def _name(key: bytes) -> bytes:
    # A digest is longer than any short key, so the two never meet.
    return key if len(key) <= SHORT_KEY else blake2b(key, digest_size=SHORT_KEY + 4).digest()
