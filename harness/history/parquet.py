"""A whole history as Parquet: for checkers, for Spark, for good."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped, unused-ignore]

from harness.history import schema
from harness.history.errors import HistoryError
from harness.history.tables import Tables, with_words, without_blanks
from harness.history.trusted import refuse_dictionary, refuse_indices, refuse_types, trusted

ROW_GROUP_ROWS = 1 << 20

_SMALL_BYTES = 1 << 20

_GROWING = ("index", "time", "op", "offset", "value", "id", "timestamp")
_TORN = b"torn"
"""In the metadata of ops: the chunks that it was made from had no end."""
_NAMES = Tables._fields
_SCHEMAS = Tables(schema.OPS, schema.ELEMENTS, schema.KEYS, schema.VALUES)


def has_all_parts(directory: Path) -> bool:
    """Whether each of the four files is a regular one, which can be opened without a wait."""
    return all((directory / f"{name}.parquet").is_file() for name in _NAMES)


def has_parquet(directory: Path) -> bool:
    return (directory / "ops.parquet").is_file()


def write_parquet(tables: Tables, directory: Path, *, is_torn: bool = False) -> None:
    """There as a whole or not at all: written beside it, then moved."""
    if is_torn:
        tables = tables._replace(ops=tables.ops.replace_schema_metadata({_TORN: "true"}))
    beside = directory.with_name(directory.name + ".new")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    for name, table in zip(_NAMES, tables, strict=True):
        words = [field.name for field in table.schema if pa.types.is_dictionary(field.type)]
        pq.write_table(
            table,
            beside / f"{name}.parquet",
            row_group_size=ROW_GROUP_ROWS,
            compression="lz4",
            # A page that was changed on disk may decode to other numbers, and accuse a broker.
            write_page_checksum=True,
            use_dictionary=[*words, "error", "process", "kind", "key", "position"],
            # Of numbers that hardly repeat, differences are smaller, and faster to read.
            column_encoding={
                name: "DELTA_BINARY_PACKED" for name in _GROWING if name in table.schema.names
            },
        )
    shutil.rmtree(directory, ignore_errors=True)
    beside.rename(directory)


def read_parquet(directory: Path) -> Tables:
    tables = Tables(
        *(
            _trusted(directory / f"{name}.parquet", fields)
            for name, fields in zip(_NAMES, _SCHEMAS, strict=True)
        )
    )
    refuse_types(tables.ops["type"], directory / "ops.parquet")
    refuse_indices(tables.ops["index"].to_numpy(), directory / "ops.parquet")
    refuse_dictionary(tables.keys, directory / "keys.parquet")
    refuse_dictionary(tables.values, directory / "values.parquet")
    elements = without_blanks(tables.elements)
    return tables._replace(ops=with_words(tables.ops), elements=elements)


def _trusted(path: Path, fields: pa.Schema) -> pa.Table:
    table = read_part(path)
    if fields is schema.ELEMENTS and table.schema.names == schema.STAMPED_ELEMENTS.names:
        fields = schema.STAMPED_ELEMENTS
    return trusted(table, fields, path)


def is_marked_torn(directory: Path) -> bool:
    return _TORN in (pq.read_schema(directory / "ops.parquet").metadata or {})


def is_ours(directory: Path) -> bool:
    """Whether every column is just what we write, so that it can be read without a look at it."""
    found = Tables(*(pq.read_schema(directory / f"{name}.parquet") for name in _NAMES))
    is_stamped = found.elements.names == schema.STAMPED_ELEMENTS.names
    ours = _SCHEMAS._replace(elements=schema.STAMPED_ELEMENTS) if is_stamped else _SCHEMAS
    return all(one.equals(other) for one, other in zip(found, ours, strict=True))


def refuse_dictionaries(directory: Path) -> None:
    """Of columns that are ours."""
    for name in ("keys", "values"):
        path = directory / f"{name}.parquet"
        refuse_dictionary(read_part(path), path)


def read_part(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """One of the four files, or these columns of it; HistoryError for what is none."""
    if path.exists() and not path.is_file():
        # A pipe would be waited for.
        raise HistoryError("it is no regular file", str(path))
    try:
        if path.stat().st_size < _SMALL_BYTES:
            # Plans for many files and threads take longer than the reading itself.
            file = pq.ParquetFile(path, memory_map=False, page_checksum_verification=True)
            with file:
                table = file.read(columns=columns, use_threads=False)
        else:
            table = pq.read_table(
                path, columns=columns, memory_map=False, page_checksum_verification=True
            )
    except (pa.ArrowException, OSError) as error:
        raise HistoryError(
            f"it cannot be read as Parquet ({error})",
            str(path),
            "remove the directory to have it made again from the chunks of the run",
        ) from error
    return table.replace_schema_metadata(None)
