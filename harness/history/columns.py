"""Rows on their way into columns: collected in lists, taken from time to time as Arrow batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from harness.history import schema
from harness.history.dictionaries import Keys, Values
from harness.history.element import INT64_MAX, INT64_MIN, Element
from harness.history.flatten import flatten
from harness.history.json_text import readable
from harness.history.op import TYPES, OpType
from harness.history.timestamps import by_element

_TYPE_CODES = {name: code for code, name in enumerate(TYPES)}
_OPS_WIDTHS = (pa.int64(), pa.int64(), pa.int32(), pa.int8(), pa.int32(), pa.string(), pa.int32())


class Chunk(NamedTuple):
    """Rows of all four tables that came together; the counts are of all chunks up to this one."""

    ops: pa.RecordBatch
    elements: pa.RecordBatch
    keys: pa.RecordBatch
    values: pa.RecordBatch
    elements_count: int
    keys_count: int
    values_count: int


class Columns:
    def __init__(self, keys: Keys | None = None) -> None:
        self._keys = keys if keys is not None else Keys()
        self._values = Values()
        self._words: dict[str, int] = {}
        self._word_array = pa.array([], pa.string())
        self._count = 0
        self._elements_count = 0
        self._ops: tuple[list[Any], ...] = tuple([] for _ in schema.OPS)
        self._elements: tuple[list[Any], ...] = tuple([] for _ in schema.ELEMENTS)
        self._timestamps: list[int | None] = []
        """Up to the last element that has one: a history without any pays nothing for them."""
        self.waiting = 0
        """How much was not taken yet: an operation counts as many as it has elements, or one."""

    def add(
        self,
        index: int,
        time_ns: int,
        process: int,
        type: OpType,  # noqa: A002 - the name of the column
        f: str,
        value: Any,
        error: str | None = None,
        node: str | None = None,
        extra: Mapping[str, Any] | None = None,
        timestamps: Any = None,
    ) -> None:
        """The whole row or, if one of its parts cannot be stored, nothing of it."""
        type_code = _TYPE_CODES[type]
        f_code = self._word(f)
        node_code = None if node is None else self._word(node)
        if error is not None:
            error = readable(error)
        if value is not None or extra is not None or timestamps is not None:
            elements = flatten(f, value, extra)
            stamps = None if timestamps is None else by_element(elements, timestamps)
            if timestamps is not None and stamps is None:
                # They have another form than ours, and are kept as they are.
                elements = flatten(f, value, {**(extra or {}), "timestamps": timestamps})
            before = len(self._elements[0])
            self._add_elements(elements)
            if stamps is not None:
                self._timestamps += [None] * (before - len(self._timestamps))
                self._timestamps += stamps
            self.waiting += len(elements)
        else:
            self.waiting += 1
        indices, times, processes, types, fs, errors, nodes = self._ops
        indices.append(index)
        times.append(time_ns)
        processes.append(process)
        types.append(type_code)
        fs.append(f_code)
        errors.append(error)
        nodes.append(node_code)
        self._count += 1

    def _add_elements(self, elements: list[Element]) -> None:
        before = len(self._elements[0])
        key_id, value_id, op = self._keys.id_of, self._values.id_of, self._count
        ops, positions, element_kinds, keys, offsets, values, boxed = self._elements
        try:
            for kind, position, key, offset, value in elements:
                keys.append(None if key is None else key_id(key, kind))
                if value is None or (type(value) is int and INT64_MIN <= value <= INT64_MAX):
                    values.append(value)
                    boxed.append(False)
                else:
                    values.append(value_id(value))
                    boxed.append(True)
                ops.append(op)
                positions.append(position)
                element_kinds.append(kind)
                offsets.append(offset)
        except BaseException:
            for column in self._elements:
                del column[before:]
            raise

    def _word(self, word: str) -> int:
        code = self._words.get(word)
        return (
            code if code is not None else self._words.setdefault(readable(word), len(self._words))
        )

    def take(self) -> Chunk:
        """What came since it was last asked; empty lists again."""
        keys, values = self._keys.take(), self._values.take()
        self._elements_count += len(self._elements[0])
        chunk = Chunk(
            self._ops_batch(),
            self._elements_batch(),
            _dictionary_batch(schema.KEYS, len(self._keys), keys),
            _dictionary_batch(schema.VALUES, len(self._values), values),
            self._elements_count,
            len(self._keys),
            len(self._values),
        )
        for column in (*self._ops, *self._elements, self._timestamps):
            column.clear()
        self.waiting = 0
        return chunk

    def _ops_batch(self) -> pa.RecordBatch:
        if len(self._words) != len(self._word_array):
            self._word_array = pa.array(list(self._words), pa.string())
        arrays = [
            pa.array(column, width) for column, width in zip(self._ops, _OPS_WIDTHS, strict=True)
        ]
        for number, names in ((3, schema.TYPE_NAMES), (4, self._word_array), (6, self._word_array)):
            arrays[number] = pa.DictionaryArray.from_arrays(arrays[number], names)
        return pa.record_batch(arrays, schema=schema.OPS)

    def _elements_batch(self) -> pa.RecordBatch:
        fields = schema.RECORDED_ELEMENTS
        columns: list[Any] = list(self._elements)
        left = len(columns[0]) - len(self._timestamps)
        columns.append(
            [*self._timestamps, *[None] * left] if self._timestamps else pa.nulls(left, pa.int64())
        )
        arrays = [
            pa.array(column, field.type) for column, field in zip(columns, fields, strict=True)
        ]
        return pa.record_batch(arrays, schema=fields)


def _dictionary_batch(fields: pa.Schema, count: int, fresh: list[str]) -> pa.RecordBatch:
    ids = pa.array(range(count - len(fresh), count), fields.field("id").type)
    return pa.record_batch([ids, pa.array(fresh, pa.string())], schema=fields)
