"""A nested value taken apart into its elements. nest.py puts it together again, exactly.

What does not have the shape that its `f` asks for is one element of kind `value`: nothing that a
client said is ever lost or bent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from harness.history import kinds
from harness.history.element import (
    LISTS,
    Element,
    are_keys,
    is_int64,
    is_key,
    is_offset,
    is_offset_map,
    is_pair,
)
from harness.history.micro_ops import micro_ops

_END_OFFSETS = {"low": kinds.LOW, "high": kinds.HIGH, "stable": kinds.STABLE}


def flatten(f: str, value: Any, extra: Mapping[str, Any] | None = None) -> list[Element]:
    elements: list[Element] = []
    if value is not None:
        # A shape without any element could not be told from null.
        elements = _BY_F.get(f, micro_ops)(value) or [Element(kinds.VALUE, 0, None, None, value)]
    if extra is not None:
        elements.append(Element(kinds.EXTRA, 0, None, None, extra))
    return elements


def _assign(value: Any) -> list[Element] | None:
    if isinstance(value, LISTS) and are_keys(value):
        return [Element(kinds.ASSIGN, position, key) for position, key in enumerate(value)]
    if is_offset_map(value):
        return _offsets(kinds.ASSIGN_AT, value)
    return None


def _commit(value: Any) -> list[Element] | None:
    if not isinstance(value, dict) or value.keys() != {"group", "generation", "member", "offsets"}:
        return None
    if not is_offset_map(value["offsets"]) or not is_offset(value["generation"]):
        return None
    return [
        Element(kinds.GROUP, 0, None, value["generation"], value["group"]),
        Element(kinds.MEMBER, 0, None, None, value["member"]),
        *_offsets(kinds.COMMIT, value["offsets"]),
    ]


def _ownership(value: Any) -> list[Element] | None:
    if not isinstance(value, dict) or value.keys() != {"group", "generation", "keys"}:
        return None
    keys = value["keys"]
    if not isinstance(keys, LISTS) or not are_keys(keys) or not is_offset(value["generation"]):
        return None
    return [
        Element(kinds.GROUP, 0, None, value["generation"], value["group"]),
        *(Element(kinds.OWNED, position, key) for position, key in enumerate(keys)),
    ]


def _end_offsets(value: Any) -> list[Element] | None:
    if not isinstance(value, dict) or not value.keys() <= _END_OFFSETS.keys():
        return None
    elements = []
    for part, offsets in value.items():
        if not is_offset_map(offsets):
            return None
        kind = _END_OFFSETS[part]
        # Without a key: that part is there, and empty.
        elements += _offsets(kind, offsets) or [Element(kind, 0)]
    return elements


def _transform(value: Any) -> list[Element] | None:
    if not isinstance(value, dict) or value.keys() != {"in", "out"}:
        return None
    taken, made = value["in"], value["out"]
    if not isinstance(taken, LISTS) or not isinstance(made, LISTS):
        return None
    if not all(_is_item(item) and is_int64(item[1]) for item in taken):
        return None
    if not all(_is_item(item) and is_pair(item[1]) for item in made):
        return None
    return [
        *(Element(kinds.IN, at, key, offset) for at, (key, offset) in enumerate(taken)),
        *(Element(kinds.OUT, at, key, *pair) for at, (key, pair) in enumerate(made)),
    ]


def _is_item(value: Any) -> bool:
    return isinstance(value, LISTS) and len(value) == 2 and is_key(value[0])


def _offsets(kind: int, offsets: Mapping[Any, int | None]) -> list[Element]:
    return [
        Element(kind, position, key, offset)
        for position, (key, offset) in enumerate(offsets.items())
    ]


_BY_F: dict[str, Callable[[Any], list[Element] | None]] = {
    "assign": _assign,
    "subscribe": _assign,
    "commit": _commit,
    "committed": _commit,
    "assigned": _ownership,
    "revoked": _ownership,
    "lost": _ownership,
    "end-offsets": _end_offsets,
    "transform": _transform,
}
