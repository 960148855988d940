"""Operations, times and values as short text. Whatever came from the system under test is cut."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from harness.history.op import Op

TEXT_MAX = 160
_AROUND = 2
_RECORDS_MAX = 3


def cut(text: str, most: int = TEXT_MAX) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def seconds(time_ns: int) -> str:
    return f"{time_ns / 1e9:,.3f} s"


def as_words(value: Any) -> str:
    """A value of a plan as one would type it; empty if there is none."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:g}"
        case Mapping():
            return ", ".join(f"{name}={as_words(each)}" for name, each in value.items())
        case list() | tuple():
            return ", ".join(map(as_words, value))
        case _:
            return str(value)


def readable(run: str) -> str:
    """`2026-11-16 00:15:30` of a run named 20261116T001530.123Z; empty if it has another name."""
    match = re.match(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)", run)
    return f"{'-'.join(match.groups()[:3])} {':'.join(match.groups()[3:])}" if match else ""


def as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ": "))


def spelled(value: Any) -> str:
    """A value as everywhere on a page: `9:414` is number 414 of producer 9."""
    if isinstance(value, int) and value >= 1 << 32:
        return f"{value >> 32}:{value & 0xFFFFFFFF}"
    if isinstance(value, list):
        inside = (
            json.dumps(each, ensure_ascii=False) if isinstance(each, str) else spelled(each)
            for each in value
        )
        return f"[{','.join(inside)}]"
    return as_text(value)


def short(value: Any) -> str:
    """A value for narrow places."""
    return cut(spelled(value), 16)


def outcome(op: Op, key: Any = None, offset: Any = None) -> str:
    """What was done and what came of it: `queue2-3 ← 3:11873 @902 · 14 more`.

    Of a burst only some records are shown: those at the offset in question, if there is one.
    """
    if isinstance(op.value, list) and op.value and all(map(_is_micro, op.value)):
        shown = op.value
        if len(shown) > _RECORDS_MAX:
            asked = [each for each in op.value if _is_about(each, key, offset)]
            shown = asked[:_RECORDS_MAX] or op.value[:_RECORDS_MAX]
        text = cut(" · ".join(_micro(each, key, offset) for each in shown))
        left = len(op.value) - len(shown)
        return f"{text} · {left} more" if left else text
    return "" if op.value is None else cut(as_text(op.value))


def _is_about(micro: Sequence[Any], key: Any, offset: Any) -> bool:
    match micro:
        case [_, where, [at, _]]:
            return bool(where == key and (offset is None or at == offset))
        case [_, where, *_]:
            return bool(where == key)
        case _:
            return False


def _is_micro(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], str)


def _micro(micro: Sequence[Any], key: Any, offset: Any) -> str:
    match micro:
        case ["send" | "put", where, [int() | None as at, value]]:
            place = "" if at is None else f" @{at}"
            return f"{where} ← {cut(spelled(value), 48)}{place}"
        case ["send" | "put" | "append" | "w", where, value]:
            return f"{where} ← {cut(spelled(value), 48)}"
        case ["poll"]:
            return "poll"
        case ["poll", Mapping() as read]:
            return _read(read, key, offset)
        case ["r" | "get", where, value]:
            return f"{where} → {cut(spelled(value), 96)}"
        case _:
            return cut(as_text(list(micro)))


def _read(read: Mapping[Any, Any], key: Any, offset: Any) -> str:
    """By partition how far; around the offset in question, record by record."""
    if key in read:
        return f"{key} → {_records(read[key], offset)}"
    if not read:
        return "→ nothing"
    return "→ " + ", ".join(f"{each} {_span(records)}" for each, records in read.items())


def _records(records: Any, offset: Any) -> str:
    if not isinstance(records, list) or not isinstance(offset, int):
        return _span(records)
    offsets = [each[0] for each in records if isinstance(each, list) and each]
    before = [at for at in offsets if isinstance(at, int) and at < offset]
    after = [at for at in offsets if isinstance(at, int) and at >= offset]
    if not before and not after:
        return "nothing"
    near = [*before[-_AROUND:], *after[: _AROUND + 1]]
    first = "… " if len(before) > _AROUND else ""
    last = " …" if len(after) > _AROUND + 1 else ""
    return f"{first}{', '.join(map(str, near))}{last}"


def _span(records: Any) -> str:
    if not isinstance(records, list) or not records:
        return "nothing"
    first, last = (each[0] if isinstance(each, list) and each else "?" for each in
                   (records[0], records[-1]))  # fmt: skip
    return f"@{first}" if len(records) == 1 else f"@{first}…{last}"
