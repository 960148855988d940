"""One anomaly of each kind, put at the end of a long history.

Each is the smallest history that its checker condemns, on keys, values and processes of its own, so
that it is one anomaly among many millions of operations, and the last of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]

from checkers.registry import all_checkers
from harness.history import schema
from harness.history.history import History
from harness.history.op import Op, OpType
from harness.history.tables import Tables, with_words
from tests.unit.checkers.guilty import GUILTY
from tests.unit.checkers.stories import Stamps

_KEYS = ("x", "y")
_STEP_NS = 1_000_000_000
"""Longer than anybody is behind in the history before."""


def kinds_planted() -> list[str]:
    """By the names of their checkers."""
    return [name for name, each in all_checkers().items() if each.model == "kafka"]


def _story(kind: str, number: int, producer: int) -> Iterator[tuple[int, OpType, str, Any, Any]]:
    """Operations: process, outcome, f, value, timestamps."""
    for process, outcome, f, value, *more in GUILTY[kind]:
        renamed = _renamed(value, kind, producer + number << 32)
        stamps = [each.of_records for each in more if isinstance(each, Stamps)]
        timestamps = _renamed(stamps[0], kind, 0) if stamps else None
        yield number * 8 + process, outcome, f, renamed, timestamps


def _renamed(value: Any, kind: str, first: int) -> Any:
    """The same on other keys, with other values: those that stand beside an offset."""
    if isinstance(value, dict):
        return {
            _key(key, kind): [[offset, _value(one, first)] for offset, one in pairs]
            if isinstance(pairs, list) and all(isinstance(pair, list) for pair in pairs)
            else _renamed(pairs, kind, first)
            for key, pairs in value.items()
        }
    if isinstance(value, list):
        if len(value) == 3 and value[0] == "send":
            offset, sent = value[2]
            return ["send", _key(value[1], kind), [offset, _value(sent, first)]]
        if len(value) == 2 and value[0] in _KEYS and isinstance(value[1], list):
            offset, sent = value[1]
            return [_key(value[0], kind), [offset, _value(sent, first)]]
        return [_renamed(one, kind, first) for one in value]
    return _key(value, kind) if isinstance(value, str) else value


def _key(key: Any, kind: str) -> Any:
    is_key = isinstance(key, str) and key.partition("/")[0] in _KEYS
    return f"{kind}-{key}" if is_key else key


def _value(value: Any, first: int) -> Any:
    return first + value if isinstance(value, int) else value


def with_planted(tables: Tables, producer: int) -> Tables:
    """`producer` is the first number that no producer of the history has."""
    process = int(pc.max(tables.ops["process"]).as_py()) + 1
    index, time = len(tables.ops), int(tables.ops["time"][-1].as_py())
    rows: list[Op] = []
    # A transaction that hangs is told from one under way when all others are over.
    kinds = sorted(kinds_planted(), key=lambda kind: kind == "hanging-transaction")
    for number, kind in enumerate(kinds):
        for who, outcome, f, value, stamps in _story(kind, number, producer):
            halves: tuple[tuple[OpType, Any, Any], ...] = (
                ("invoke", None, None),
                (outcome, value, stamps),
            )
            for type_, what, timestamps in halves:
                at = index + len(rows)
                time += _STEP_NS
                rows.append(Op(at, time, process + who, type_, f, what, timestamps=timestamps))
    return _joined(tables, History.of(rows).tables)


def _joined(tables: Tables, more: Tables) -> Tables:
    """One history after the other; their keys and values are different ones."""
    elements = more.elements
    shifts = {
        "op": pc.add(elements["op"], pa.scalar(len(tables.ops), pa.int32())),
        "key": pc.add(elements["key"], pa.scalar(len(tables.keys), pa.int32())),
        "value": pc.if_else(
            elements["boxed"],
            pc.add(elements["value"], pa.scalar(len(tables.values), pa.int64())),
            elements["value"],
        ),
    }
    for name, column in shifts.items():
        at = schema.ELEMENTS.get_field_index(name)
        elements = elements.set_column(at, schema.ELEMENTS.field(name), column)
    return Tables(
        with_words(pa.concat_tables([tables.ops, more.ops])),
        # Timestamps are in what is planted alone.
        pa.concat_tables([tables.elements, elements], promote_options="default").combine_chunks(),
        _numbered(schema.KEYS, tables.keys, more.keys),
        _numbered(schema.VALUES, tables.values, more.values),
    )


def _numbered(fields: pa.Schema, one: pa.Table, other: pa.Table) -> pa.Table:
    texts = pa.concat_tables([one.select(["json"]), other.select(["json"])])["json"]
    ids = pa.array(range(len(texts)), fields.field("id").type)
    return pa.table([ids, texts.combine_chunks()], schema=fields)
