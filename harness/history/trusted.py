"""Columns that somebody else may have written, looked at before anybody trusts them.

What is wrong is told with the file, the row (counted from 0, as elements count ops) and what was
expected, as it is told of lines. Everything is asked of whole columns.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]

from harness.history.errors import HistoryError
from harness.history.json_text import encode
from harness.history.op import TYPES

_Ints = npt.NDArray[np.integer[Any]]


def trusted(table: pa.Table, fields: pa.Schema, path: Path) -> pa.Table:
    """With the columns of `fields`, none of them null that must not be; words stay as they are."""
    if table.schema.names != fields.names:
        raise HistoryError(
            f"expected the columns {', '.join(fields.names)} of a history, found "
            f"{', '.join(table.schema.names)}",
            str(path),
        )
    for number, field in enumerate(fields):
        column = table[number]
        if not _is_alike(column.type, field.type):
            raise HistoryError(
                f"expected {_said(field.type)} as {field.name}, found {column.type}", str(path)
            )
        if not field.nullable and column.null_count:
            row = int(np.argmax(np.asarray(pc.is_null(column))))
            raise HistoryError(f"expected a value as {field.name}, found none", _row(path, row))
        if pa.types.is_dictionary(column.type):
            continue
        plain = pa.string() if pa.types.is_dictionary(field.type) else field.type
        try:
            table = table.set_column(number, field.with_type(plain), column.cast(plain))
        except pa.ArrowInvalid as error:
            raise HistoryError(
                f"expected {_said(field.type)} as {field.name} ({error})", str(path)
            ) from None
    return table


def _is_alike(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Others have other widths; Spark for one knows no dictionaries, and a column in which nothing
    is has no type in some tools."""
    if pa.types.is_null(found):
        return True
    if pa.types.is_integer(wanted):
        return bool(pa.types.is_integer(found))
    if pa.types.is_boolean(wanted):
        return bool(pa.types.is_boolean(found))
    if pa.types.is_dictionary(found):
        found = found.value_type
    return bool(pa.types.is_string(found) or pa.types.is_large_string(found))


def _said(wanted: pa.DataType) -> str:
    if pa.types.is_integer(wanted) or pa.types.is_boolean(wanted):
        return str(wanted)
    return "text"


def refuse_types(types: pa.ChunkedArray, path: Path) -> None:
    words = types.unique()
    strange = [word for word in words.to_pylist() if word not in TYPES]
    if strange:
        row = int(np.argmax(np.asarray(pc.equal(types.cast(pa.string()), strange[0]))))
        raise HistoryError(
            f"expected a type of {', '.join(TYPES)}, found {encode(strange[0])}", _row(path, row)
        )


def refuse_indices(indices: _Ints, path: Path) -> None:
    """They may have gaps, but must grow; the sentence is that of lines."""
    if indices.size and indices[0] < 0:
        raise HistoryError(f"expected index to be at least 0, found {indices[0]}", _row(path, 0))
    wrong = indices[1:] <= indices[:-1]
    if wrong.any():
        row = int(np.argmax(wrong)) + 1
        least = int(indices[row - 1]) + 1
        raise HistoryError(
            f"expected index to be at least {least}, found {indices[row]}", _row(path, row)
        )


def refuse_numbers(name: str, numbers: _Ints, path: Path) -> None:
    """Those that count the rows: other columns point to them by their place."""
    wrong = numbers != np.arange(numbers.size)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise HistoryError(f"expected {name} to be {row}, found {numbers[row]}", _row(path, row))


def refuse_dictionary(table: pa.Table, path: Path) -> None:
    """Two ids of one text would be two logs, or two values, that are one."""
    refuse_numbers("id", table["id"].to_numpy(), path)
    texts = table["json"]
    if pc.count_distinct(texts).as_py() < len(texts):
        first: dict[str, int] = {}
        for row, text in enumerate(texts.to_pylist()):
            if first.setdefault(text, row) != row:
                raise HistoryError(
                    f"expected no text twice, found {text} in row {first[text]} as well",
                    _row(path, row),
                )


def refuse_pointers(name: str, column: npt.NDArray[Any], least: int, end: int, where: str) -> None:
    """`end` is the first that is too large."""
    if column.size and not (least <= int(column.min()) and int(column.max()) < end):
        raise HistoryError(
            f"expected every {name} in elements from {least} to {end - 1}, found "
            f"{column.min()} to {column.max()}",
            where,
        )


def _row(path: Path, row: int) -> str:
    return f"{path}, row {row}"
