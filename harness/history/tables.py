"""A history as four Arrow tables in their one canonical form, wherever they were read from."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]

from harness.history import schema
from harness.history.errors import HistoryError


class Tables(NamedTuple):
    ops: pa.Table
    elements: pa.Table
    keys: pa.Table
    values: pa.Table


def assembled(
    ops: pa.Table, elements: pa.Table, keys: pa.Table, values: pa.Table, where: str
) -> Tables:
    """Of recorded chunks: no text has two ids any more, and `op` has its final width."""
    if len(ops) > schema.OPS_MAX:
        raise HistoryError(
            f"{len(ops):,} rows are more than one history can hold", where, "check it in parts"
        )
    values, value_ids = _without_doubles(values)
    if value_ids is not None:
        elements = _with_column(elements, "value", _replaced(elements, value_ids))
    op = elements["op"].cast(pa.int32())
    elements = without_blanks(_with_column(elements, "op", op))
    return Tables(with_words(ops), elements, keys, values)


def without_blanks(elements: pa.Table) -> pa.Table:
    """The column of timestamps is there only if one of them is known."""
    at = len(schema.ELEMENTS)
    is_blank = len(elements.column_names) > at and elements[at].null_count == len(elements)
    return elements.remove_column(at) if is_blank else elements


def with_words(ops: pa.Table) -> pa.Table:
    """Dictionaries in the order of their first use, so that equal histories are equal tables."""
    ops = ops.unify_dictionaries().combine_chunks()
    ops = ops.set_column(3, schema.OPS.field("type"), _types(ops["type"]))
    for name in ("f", "node"):
        number = schema.OPS.get_field_index(name)
        ops = ops.set_column(number, schema.OPS.field(name), _words(ops[name]))
    return ops.cast(schema.OPS)


def _types(column: pa.ChunkedArray) -> pa.ChunkedArray:
    chunks = []
    for chunk in _encoded(column).chunks:
        codes = pc.index_in(chunk.dictionary, schema.TYPE_NAMES).cast(pa.int8())
        chunks.append(pa.DictionaryArray.from_arrays(codes.take(chunk.indices), schema.TYPE_NAMES))
    return pa.chunked_array(chunks, schema.TYPE)


def _words(column: pa.ChunkedArray) -> pa.ChunkedArray:
    chunks = []
    for chunk in _encoded(column).chunks:
        used = chunk.indices.dictionary_encode()
        words = chunk.dictionary.take(used.dictionary)
        chunks.append(pa.DictionaryArray.from_arrays(used.indices, words))
    return pa.chunked_array(chunks, schema.WORD)


def _encoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Others who write Parquet, Spark for one, know no dictionaries."""
    return column if pa.types.is_dictionary(column.type) else column.dictionary_encode()


def _without_doubles(values: pa.Table) -> tuple[pa.Table, pa.Array | None]:
    """And the new id for each old one, unless they are the same."""
    texts = values["json"].combine_chunks()
    encoded = texts.dictionary_encode()
    if len(encoded.dictionary) == len(texts):
        return values, None
    ids = pa.array(range(len(encoded.dictionary)), pa.int64())
    unique = pa.table([ids, encoded.dictionary], schema=schema.VALUES)
    return unique, encoded.indices.cast(pa.int64())


def _replaced(elements: pa.Table, ids: pa.Array) -> pa.ChunkedArray:
    boxed, values = elements["boxed"], elements["value"]
    return pc.if_else(boxed, ids.take(pc.if_else(boxed, values, None)), values)


def _with_column(elements: pa.Table, name: str, column: pa.ChunkedArray) -> pa.Table:
    number = schema.ELEMENTS.get_field_index(name)
    return elements.set_column(
        number, pa.field(name, column.type, elements.schema.field(name).nullable), column
    )
