"""JSON Lines: histories of others read, and ours written for others. One row to a line."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from json import JSONDecoder
from pathlib import Path
from typing import IO, Any

from harness.history.collected import Collected
from harness.history.element import INT64_MAX, INT64_MIN
from harness.history.errors import HistoryError
from harness.history.json_text import DEPTH_MAX, encode
from harness.history.map_keys import JsonKeys
from harness.history.op import NEMESIS, TYPES, Op
from harness.history.tables import Tables

_NEMESIS_NAME = "nemesis"
_FIELDS = frozenset(
    ("index", "time", "process", "type", "f", "value", "error", "node", "timestamps")
)
_PROCESS_MAX = 2**31 - 1

SetAside = Callable[[int, str, str], None]
"""Receives the number of a line, what is wrong with it, and what stands there."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Python would keep the last of two, and others the first."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise Unexpected(
                    f"expected each key of an object once, found {_shortened(name)} twice"
                )
            seen.add(name)
    return fields


_decode = JSONDecoder(object_pairs_hook=_once).decode


def write_jsonl(history: Iterable[Op], path: Path) -> None:
    """A row at a time: of a long history little is in memory."""
    with path.open("w", encoding="utf-8") as file:
        for op in history:
            file.write(encode(fields_of(op)) + "\n")


def fields_of(op: Op) -> dict[str, Any]:
    """One line, before it is encoded."""
    fields: dict[str, Any] = {
        "index": op.index,
        "time": op.time_ns,
        "process": _NEMESIS_NAME if op.process == NEMESIS else op.process,
        "type": op.type,
        "f": op.f,
        "value": op.value,
    }
    if op.error is not None:
        fields["error"] = op.error
    if op.node is not None:
        fields["node"] = op.node
    if op.timestamps is not None:
        fields["timestamps"] = op.timestamps
    for name, value in (op.extra or {}).items():
        fields.setdefault(name, value)
    return fields


def read_jsonl(path: Path, set_aside: SetAside | None = None) -> Tables:
    """With `set_aside`, lines that are no operation go there and the rest is read."""
    keys = JsonKeys()
    collected = Collected(keys)
    try:
        with path.open("rb") as file:
            if file.read(len(BOM_UTF8)) != BOM_UTF8:
                file.seek(0)
            for op in _ops(file, path, set_aside):
                collected.add(op)
    except OSError as error:
        raise HistoryError(f"it cannot be read ({error.strerror})", str(path)) from error
    return keys.resolved(collected.tables(str(path)))


def _ops(file: IO[bytes], path: Path, set_aside: SetAside | None) -> Iterator[Op]:
    index, time_ns = -1, 0
    for number, line in enumerate(file, 1):
        if line.isspace():
            continue
        try:
            op = op_of(_fields(line), index, time_ns)
        except Unexpected as error:
            if set_aside is None:
                raise HistoryError(str(error), f"{path}, line {number}") from None
            set_aside(number, str(error), line.decode(errors="replace").strip())
            continue
        index, time_ns = op.index, op.time_ns
        yield op


class Unexpected(Exception):  # noqa: N818 - half a sentence
    """What was expected, and what was there instead."""


def op_of(fields: dict[str, Any], index_before: int, time_before_ns: int) -> Op:
    """Of what somebody else wrote; raises Unexpected."""
    index = _integer(fields, "index", index_before + 1, index_before + 1, INT64_MAX)
    time_ns = _integer(fields, "time", time_before_ns, INT64_MIN, INT64_MAX)
    type_ = fields.get("type")
    if type_ not in TYPES:
        raise Unexpected(f"expected a type of {', '.join(TYPES)}, found {_found(fields, 'type')}")
    f = fields.get("f")
    if not isinstance(f, str | None):
        raise Unexpected(f"expected a text as f, found {_found(fields, 'f')}")
    node = fields.get("node")
    if not isinstance(node, str | None):
        raise Unexpected(f"expected a text as node, found {_found(fields, 'node')}")
    error = fields.get("error")
    return Op(
        index,
        time_ns,
        _process(fields),
        type_,
        "txn" if f is None else f,
        _with_reads(fields.get("value")),
        error if isinstance(error, str | None) else encode(error),
        node,
        None
        if fields.keys() <= _FIELDS
        else {name: fields[name] for name in fields if name not in _FIELDS},
        fields.get("timestamps"),
    )


def _fields(line: bytes) -> dict[str, Any]:
    try:
        fields = _decode(line.decode().strip())
        if line.count(b"[") + line.count(b"{") > DEPTH_MAX and _is_too_deep(fields):
            raise RecursionError
    except UnicodeDecodeError as error:
        raise Unexpected(f"expected UTF-8, found other bytes at column {error.start + 1}") from None
    except RecursionError:
        raise Unexpected(
            "expected one operation as JSON, found lists within lists without end"
        ) from None
    except ValueError as error:
        raise Unexpected(f"expected one operation as JSON ({error})") from None
    if not isinstance(fields, dict):
        raise Unexpected(
            'expected an operation, {"index": 0, "process": 0, "type": "invoke", ...}, '
            f"found {_shortened(fields)}"
        )
    return fields


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEPTH_MAX):
        level = [
            part
            for one in level
            for part in (one.values() if isinstance(one, dict) else one)
            if isinstance(part, list | dict)
        ]
        if not level:
            return False
    return True


def _with_reads(value: Any) -> Any:
    """`["r", k]` is how some write a read of nothing, `["r", k, null]`."""
    if not isinstance(value, list) or not any(map(_is_short_read, value)):
        return value
    return [[*part, None] if _is_short_read(part) else part for part in value]


def _is_short_read(part: Any) -> bool:
    return isinstance(part, list) and len(part) == 2 and part[0] == "r"


def _integer(fields: dict[str, Any], name: str, default: int, least: int, most: int) -> int:
    value = fields.get(name)
    if value is None:
        value = default
    if type(value) is not int:
        raise Unexpected(f"expected an integer as {name}, found {_found(fields, name)}")
    if not least <= value <= most:
        bound = f"at least {least}" if value < least else f"at most {most}"
        raise Unexpected(f"expected {name} to be {bound}, found {value}")
    return value


def _process(fields: dict[str, Any]) -> int:
    process = fields.get("process")
    if process == _NEMESIS_NAME:
        return NEMESIS
    # Minus one is the nemesis to us alone: another's client of that number would not be judged.
    if type(process) is not int or not 0 <= process <= _PROCESS_MAX:
        raise Unexpected(
            f'expected an integer from 0 to {_PROCESS_MAX} or "nemesis" as process, found '
            f"{_found(fields, 'process')}"
        )
    return process


def _found(fields: dict[str, Any], name: str) -> str:
    return _shortened(fields[name]) if name in fields else "none"


def _shortened(value: Any) -> str:
    text = encode(value)
    return text if len(text) <= 60 else text[:57] + "..."
