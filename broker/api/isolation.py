"""Isolation levels of consumers. Kafka fails on one that it does not know, and so do we: a level of
a later version may promise more than read_uncommitted."""

from __future__ import annotations

from typing import Final

READ_COMMITTED: Final = 1
_KNOWN = (0, READ_COMMITTED)


def is_known(level: int) -> bool:
    return level in _KNOWN
