"""The one way in which keys and values are written as JSON: equal texts are equal values."""

from __future__ import annotations

from json import JSONDecoder, JSONEncoder
from typing import Any

from harness.history.errors import HistoryError

# ASCII only: a lone surrogate has no UTF-8, but has an escape.
encode = JSONEncoder(separators=(",", ":")).encode
_decode = JSONDecoder().decode

DEPTH_MAX = 200
"""Lists within lists in a history of others: whoever goes through a value does so by recursion."""


def decode(text: str) -> Any:
    """A key or a value, as it was stored."""
    try:
        return _decode(text)
    except (ValueError, RecursionError):
        shown = encode(text)
        raise HistoryError(
            f"expected JSON, found {shown if len(shown) <= 60 else shown[:57] + '...'}",
            "a key or a value of the history",
        ) from None


def readable(text: str) -> str:
    """Text that has UTF-8: what a client could not decode must not cost us the chunk."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
