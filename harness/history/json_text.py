"""The one way in which keys and values are written as JSON: equal texts are equal values."""

from __future__ import annotations

from json import JSONDecoder, JSONEncoder
from typing import Any

from harness.history.errors import HistoryError

# ASCII only: a lone surrogate has no UTF-8, but has an escape.
encode = JSONEncoder(separators=(",", ":")).encode
_encode_sorted = JSONEncoder(separators=(",", ":"), sort_keys=True).encode
_encode_readably = JSONEncoder(ensure_ascii=False).encode
_decode = JSONDecoder().decode

DEPTH_MAX = 200
"""Lists within lists in a history of others: whoever goes through a value does so by recursion."""


def canonical_text(value: Any) -> str:
    """The same for equal values: the keys of an object have no order."""
    try:
        return _encode_sorted(value)
    except TypeError:
        # Those of EDN are of several types, which have none among each other either.
        return encode(_ordered(value))


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        by_text = sorted(value.items(), key=lambda item: encode(item[0]))
        return {key: _ordered(part) for key, part in by_text}
    return list(map(_ordered, value)) if isinstance(value, list | tuple) else value


def decode(text: str) -> Any:
    """A key or a value, as it was stored."""
    try:
        return _decode(text)
    except (ValueError, RecursionError):
        raise HistoryError(
            f"expected JSON, found {shown(text)}", "a key or a value of the history"
        ) from None


def shown(value: Any, most: int = 120) -> str:
    """In a sentence: as JSON, and not the whole of what is long."""
    text = readable(_encode_readably(value))
    return text if len(text) <= most else text[:most] + "..."


def readable(text: str) -> str:
    """Text that has UTF-8: what a client could not decode must not cost us the chunk."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
