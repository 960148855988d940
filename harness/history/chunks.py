"""Reads the chunks of a run, up to the last one that all files have as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]

from harness.history.errors import HistoryError
from harness.history.order import in_order
from harness.history.recorder import FILES
from harness.history.schema import OLDER_RECORDED_ELEMENTS
from harness.history.tables import Tables, assembled
from harness.history.torn import has_end_mark, refuse_unless_torn
from harness.history.trusted import refuse_numbers, refuse_pointers, refuse_types, trusted

_PARTS = ("keys", "values", "elements")
_NUMBERED = {"ops": "index", "keys": "id", "values": "id"}


class Chunks(NamedTuple):
    tables: Tables
    is_torn: bool
    """Whether a file lacks its end mark, or something was left out: the recorder was killed, it is
    still recording, or what it wrote was cut."""


class _File(NamedTuple):
    batches: list[tuple[pa.RecordBatch, dict[str, str]]]
    """Each whole batch with what it says of itself."""
    has_end: bool


def has_chunks(directory: Path) -> bool:
    return (directory / "ops.arrow").is_file()


def read_chunks(directory: Path) -> Chunks:
    if not has_chunks(directory):
        raise HistoryError(
            "no ops.arrow is here", str(directory), "name the directory of a run, or its history"
        )
    read = {name: _read(directory, name) for name in _PARTS}
    there = {name: sum(batch.num_rows for batch, _ in file.batches) for name, file in read.items()}
    # Last of all: if the run is still recording, the others may lack what was added meanwhile.
    read["ops"] = _read(directory, "ops")
    needed = dict.fromkeys(_PARTS, 0)
    ops = []
    for batch, says in read["ops"].batches:
        needs = _needs(says, directory / "ops.arrow")
        if any(needs[name] > there[name] for name in _PARTS):
            break
        needed = needs
        ops.append(batch)
    is_torn = len(ops) < len(read["ops"].batches) or not all(f.has_end for f in read.values())
    parts = {name: _table(read[name], directory, name, needed[name]) for name in _PARTS}
    whole = _trusted(pa.Table.from_batches(ops, FILES["ops"]), directory, "ops")
    refuse_types(whole["type"], directory / "ops.arrow")
    elements = parts["elements"]
    refuse_pointers("op", elements["op"].to_numpy(), 0, len(whole), str(directory))
    boxes = pc.fill_null(elements["value"].filter(elements["boxed"]), -1)
    refuse_pointers("boxed value", boxes.to_numpy(), 0, len(parts["values"]), str(directory))
    tables = assembled(whole, elements, parts["keys"], parts["values"], str(directory))
    return Chunks(in_order(tables), is_torn)


def _needs(says: dict[str, str], path: Path) -> dict[str, int]:
    """How many rows of the other files a batch of ops goes with."""
    try:
        needs = {name: int(says[name]) for name in _PARTS}
    except (KeyError, ValueError):
        needs = {}
    if not needs or min(needs.values()) < 0:
        raise HistoryError(
            f"expected each batch to say how many {', '.join(_PARTS)} there are, found {says}",
            str(path),
        )
    return needs


def _table(file: _File, directory: Path, name: str, count: int) -> pa.Table:
    batches = [batch for batch, _ in file.batches]
    fields = batches[0].schema if batches else FILES[name]
    return _trusted(pa.Table.from_batches(batches, fields).slice(0, count), directory, name)


def _readable(name: str) -> tuple[pa.Schema, ...]:
    """The columns that a file may have: those of today, and of older versions."""
    return (FILES[name], OLDER_RECORDED_ELEMENTS) if name == "elements" else (FILES[name],)


def _trusted(table: pa.Table, directory: Path, name: str) -> pa.Table:
    path = directory / f"{name}.arrow"
    table = trusted(table, table.schema if name == "elements" else FILES[name], path)
    if name != "elements":
        # Rows are pointed to by their number.
        refuse_numbers(_NUMBERED[name], table[_NUMBERED[name]].to_numpy(), path)
    return table


def _read(directory: Path, name: str) -> _File:
    """A file up to its last whole batch.

    HistoryError for bytes that a recorder which was killed cannot have left, and for a file that is
    not there: a recorder makes all four before it writes to any.
    """
    path = directory / f"{name}.arrow"
    if not path.is_file():
        what = "it is no regular file" if path.exists() else "it is missing"
        raise HistoryError(what, str(path), "it is needed: take it from a copy of the run")
    batches: list[tuple[pa.RecordBatch, dict[str, str]]] = []
    # Not mapped: the run may still be recording, and a file cut short under a map is a crash.
    with pa.OSFile(str(path)) as file:
        size = file.size()
        if not size:
            return _File(batches, has_end=False)
        try:
            stream = pa.ipc.open_stream(file)
        except (pa.ArrowException, OSError):
            refuse_unless_torn(path, 0, size)
            return _File(batches, has_end=False)
        if stream.schema not in _readable(name):
            raise HistoryError(
                "its columns are not those of a history",
                str(path),
                "it may have been recorded by another version",
            )
        while True:
            at = file.tell()
            try:
                batch, says = stream.read_next_batch_with_custom_metadata()
            except StopIteration:
                return _File(batches, has_end=has_end_mark(path, at))
            except (pa.ArrowException, OSError):
                refuse_unless_torn(path, at, size)
                return _File(batches, has_end=False)
            batches.append(
                (batch, {key.decode(): text.decode() for key, text in (says or {}).items()})
            )
