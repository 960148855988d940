"""EDN as Jepsen writes it, one map to a line, for its tools to read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from harness.history.json_text import encode
from harness.history.op import NEMESIS, Op
from harness.history.operations import MICRO_OPERATIONS, OPERATIONS

_MICRO_OPS = frozenset(MICRO_OPERATIONS)
_KEYED_BY_WORDS = frozenset(name for name, each in OPERATIONS.items() if each.is_keyed_by_words)
_KEYWORD = re.compile(r"[A-Za-z*!_?<>=$%&|+-][A-Za-z0-9*!_?<>=$%&|.+-]*(/[A-Za-z][A-Za-z0-9_.-]*)?")


def write_edn(history: Iterable[Op], path: Path) -> None:
    """A row at a time: of a long history little is in memory."""
    with path.open("w", encoding="utf-8") as file:
        for op in history:
            file.write(_row(op) + "\n")


def _row(op: Op) -> str:
    fields = {
        ":index": str(op.index),
        ":time": str(op.time_ns),
        ":process": ":nemesis" if op.process == NEMESIS else str(op.process),
        ":type": f":{op.type}",
        ":f": _word(op.f),
        ":value": _value(op),
    }
    if op.error is not None:
        fields[":error"] = _text(op.error)
    if op.node is not None:
        fields[":node"] = _text(op.node)
    if op.timestamps is not None:
        fields[":timestamps"] = _data(op.timestamps)
    for name, value in (op.extra or {}).items():
        fields[_word(name)] = _worded(value)
    return "{" + ", ".join(f"{name} {value}" for name, value in fields.items()) + "}"


def _value(op: Op) -> str:
    value = op.value
    if isinstance(value, list) and value and all(map(_is_micro_op, value)):
        return _vector(_vector((_word(name), *map(_data, rest))) for name, *rest in value)
    if op.f in _KEYED_BY_WORDS and isinstance(value, dict):
        return _map((_word(name), _data(part)) for name, part in value.items())
    return _worded(value) if op.process == NEMESIS else _data(value)


def _is_micro_op(value: Any) -> bool:
    if not isinstance(value, list) or not value:
        return False
    return isinstance(value[0], str) and value[0] in _MICRO_OPS


def _worded(value: Any) -> str:
    """Maps of ours, whose keys are words, and not data that clients sent."""
    if isinstance(value, Mapping):
        return _map(
            (_word(name) if isinstance(name, str) else _data(name), _worded(part))
            for name, part in value.items()
        )
    if isinstance(value, list | tuple):
        return _vector(map(_worded, value))
    return _data(value)


def _data(value: Any) -> str:
    match value:
        case None:
            return "nil"
        case bool():
            return "true" if value else "false"
        case str():
            return _text(value)
        case int():
            # Beyond a long, Clojure wants to be told.
            return str(value) if -(1 << 63) <= value < 1 << 63 else f"{value}N"
        case float():
            return _number(value)
        case Mapping():
            return _map((_data(key), _data(part)) for key, part in value.items())
        case list() | tuple():
            return _vector(map(_data, value))
        case _:
            raise TypeError(f"{type(value).__name__} has no form in EDN")


def _number(value: float) -> str:
    if value != value:
        return "##NaN"
    if value in (float("inf"), float("-inf")):
        return "##Inf" if value > 0 else "##-Inf"
    return repr(value)


def _text(value: str) -> str:
    # JSON's escapes are a part of those that EDN's readers know.
    return encode(value)


def _word(name: str) -> str:
    return f":{name}" if _KEYWORD.fullmatch(name) else _text(name)


def _vector(parts: Iterable[str]) -> str:
    return "[" + " ".join(parts) + "]"


def _map(parts: Iterable[tuple[str, str]]) -> str:
    return "{" + ", ".join(f"{key} {value}" for key, value in parts) + "}"
