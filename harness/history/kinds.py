"""What one element of a value is. The numbers are on disk: new ones are added at the end.

Plain numbers rather than an enumeration, because one is taken for every element recorded.
"""

from __future__ import annotations

from typing import Final

VALUE: Final = 0
SEND: Final = 1
SENT: Final = 2
POLL: Final = 3
POLLED_NOTHING: Final = 4
POLLED_EMPTY: Final = 5
RECORD: Final = 6
APPEND: Final = 7
READ: Final = 8
READ_EMPTY: Final = 9
READ_ELEMENT: Final = 10
WRITE: Final = 11
PUT: Final = 12
PUT_AT: Final = 13
GET: Final = 14
ASSIGN: Final = 15
ASSIGN_AT: Final = 16
GROUP: Final = 17
MEMBER: Final = 18
COMMIT: Final = 19
OWNED: Final = 20
LOW: Final = 21
HIGH: Final = 22
STABLE: Final = 23
IN: Final = 24
OUT: Final = 25
EXTRA: Final = 26
GET_AT: Final = 27
PAUSE: Final = 28
ABORT: Final = 29

NAMES: Final = (
    *("value", "send", "sent", "poll", "polled-nothing", "polled-empty", "record", "append"),
    *("read", "read-empty", "read-element", "write", "put", "put-at", "get", "assign"),
    *("assign-at", "group", "member", "commit", "owned", "low", "high", "stable", "in", "out"),
    *("extra", "get-at", "pause", "abort"),
)
"""By number."""

KEYED_BY_MAP: Final = frozenset((POLLED_EMPTY, RECORD, ASSIGN_AT, COMMIT, LOW, HIGH, STABLE))
"""Kinds whose key is the key of an object in JSON, and there a text, whatever it was."""
