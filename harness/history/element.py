"""One element of a value, and what a key and an offset must be to have a column of their own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from harness.history.op import Key

INT64_MIN = -(1 << 63)
INT64_MAX = (1 << 63) - 1
LISTS = (list, tuple)


class Element(NamedTuple):
    kind: int
    position: int
    key: Key | None = None
    offset: int | None = None
    value: Any = None


def is_int64(value: Any) -> bool:
    # A bool is an int to isinstance, and would come back as one.
    return type(value) is int and INT64_MIN <= value <= INT64_MAX


def is_key(value: Any) -> bool:
    return type(value) is str or type(value) is int


def is_offset(value: Any) -> bool:
    return value is None or is_int64(value)


def is_pair(value: Any) -> bool:
    """[offset, value], the offset perhaps not known."""
    return isinstance(value, LISTS) and len(value) == 2 and is_offset(value[0])


def are_keys(values: Iterable[Any]) -> bool:
    return all(is_key(value) for value in values)


def is_offset_map(value: Any) -> bool:
    return isinstance(value, dict) and are_keys(value) and all(map(is_offset, value.values()))
