"""A whole history as Parquet: for checkers, for Spark, for good."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped, unused-ignore]

from harness.history import schema
from harness.history.errors import HistoryError
from harness.history.tables import Tables, with_words

ROW_GROUP_ROWS = 1 << 20

_NAMES = Tables._fields
_SCHEMAS = Tables(schema.OPS, schema.ELEMENTS, schema.KEYS, schema.VALUES)


def has_parquet(directory: Path) -> bool:
    return (directory / "ops.parquet").is_file()


def write_parquet(tables: Tables, directory: Path) -> None:
    """There as a whole or not at all: written beside it, then moved."""
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
            # Of numbers that hardly repeat a dictionary is only in the way.
            use_dictionary=[*words, "error", "process", "kind", "key", "position"],
        )
    shutil.rmtree(directory, ignore_errors=True)
    beside.rename(directory)


def read_parquet(directory: Path) -> Tables:
    tables = Tables(*(_read(directory / f"{name}.parquet") for name in _NAMES))
    tables = tables._replace(ops=with_words(tables.ops))
    for name, table, fields in zip(_NAMES, tables, _SCHEMAS, strict=True):
        if not table.schema.equals(fields):
            raise HistoryError(
                "its columns are not those of a history", str(directory / f"{name}.parquet")
            )
    return tables


def _read(path: Path) -> pa.Table:
    try:
        return pq.read_table(path, memory_map=False).replace_schema_metadata(None)
    except (pa.ArrowInvalid, OSError) as error:
        raise HistoryError(
            f"it cannot be read as Parquet ({error})",
            str(path),
            "remove the directory to have it made again from the chunks of the run",
        ) from error
