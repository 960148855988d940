"""The one way in which keys and values are written as JSON: equal texts are equal values."""

from __future__ import annotations

from json import JSONDecoder, JSONEncoder

# ASCII only: a lone surrogate has no UTF-8, but has an escape.
encode = JSONEncoder(separators=(",", ":")).encode
decode = JSONDecoder().decode

DEPTH_MAX = 200
"""Lists within lists in a history of others: whoever goes through a value does so by recursion."""


def readable(text: str) -> str:
    """Text that has UTF-8: what a client could not decode must not cost us the chunk."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
