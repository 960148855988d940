"""Operations that come one by one and stay in memory, on their way to tables."""

from __future__ import annotations

from typing import Final

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from harness.history import schema
from harness.history.columns import Chunk, Columns
from harness.history.dictionaries import Keys
from harness.history.op import Op
from harness.history.tables import Tables, assembled

_CHUNK_ROWS: Final = 65_536


class Collected:
    def __init__(self, keys: Keys | None = None) -> None:
        self._columns = Columns(keys)
        self._chunks: list[Chunk] = []

    def add(self, op: Op) -> None:
        self._columns.add(
            op.index,
            op.time_ns,
            op.process,
            op.type,
            op.f,
            op.value,
            op.error,
            op.node,
            op.extra,
            op.timestamps,
        )
        # Lists of Python's numbers are many times as large as columns.
        if self._columns.waiting >= _CHUNK_ROWS:
            self._chunks.append(self._columns.take())

    def tables(self, where: str = "a history") -> Tables:
        """In the order in which they came."""
        chunks = [*self._chunks, self._columns.take()]
        ops = pa.Table.from_batches([chunk.ops for chunk in chunks], schema.OPS)
        fields = schema.RECORDED_ELEMENTS
        elements = pa.Table.from_batches([chunk.elements for chunk in chunks], fields)
        keys = pa.Table.from_batches([chunk.keys for chunk in chunks], schema.KEYS)
        values = pa.Table.from_batches([chunk.values for chunk in chunks], schema.VALUES)
        return assembled(ops, elements.combine_chunks(), keys, values, where)
