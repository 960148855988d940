"""Reads the chunks of a run, up to the last one that all files have as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]

from harness.history.errors import HistoryError
from harness.history.order import in_order
from harness.history.recorder import FILES
from harness.history.tables import Tables, assembled
from harness.history.torn import refuse_unless_torn
from harness.history.trusted import refuse_numbers, refuse_pointers, refuse_types, trusted

_PARTS = ("keys", "values", "elements")
_NUMBERED = {"ops": "index", "keys": "id", "values": "id"}


def has_chunks(directory: Path) -> bool:
    return (directory / "ops.arrow").is_file()


def read_chunks(directory: Path) -> Tables:
    if not has_chunks(directory):
        raise HistoryError(
            "no ops.arrow is here", str(directory), "name the directory of a run, or its history"
        )
    read = {name: [batch for batch, _ in _batches(directory, name)] for name in _PARTS}
    there = {name: sum(batch.num_rows for batch in batches) for name, batches in read.items()}
    needed = dict.fromkeys(_PARTS, 0)
    ops = []
    for batch, says in _batches(directory, "ops"):
        needs = _needs(says, directory / "ops.arrow")
        if any(needs[name] > there[name] for name in _PARTS):
            break
        needed = needs
        ops.append(batch)
    parts = {
        name: _trusted(pa.Table.from_batches(batches, FILES[name]), directory, name, needed[name])
        for name, batches in read.items()
    }
    whole = _trusted(pa.Table.from_batches(ops, FILES["ops"]), directory, "ops")
    refuse_types(whole["type"], directory / "ops.arrow")
    elements = parts["elements"]
    refuse_pointers("op", elements["op"].to_numpy(), 0, len(whole), str(directory))
    boxes = pc.fill_null(elements["value"].filter(elements["boxed"]), -1)
    refuse_pointers("boxed value", boxes.to_numpy(), 0, len(parts["values"]), str(directory))
    return in_order(assembled(whole, elements, parts["keys"], parts["values"], str(directory)))


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


def _trusted(table: pa.Table, directory: Path, name: str, count: int | None = None) -> pa.Table:
    path = directory / f"{name}.arrow"
    table = trusted(table.slice(0, count), FILES[name], path)
    if name != "elements":
        # Rows are pointed to by their number.
        refuse_numbers(_NUMBERED[name], table[_NUMBERED[name]].to_numpy(), path)
    return table


def _batches(directory: Path, name: str) -> Iterator[tuple[pa.RecordBatch, dict[str, str]]]:
    """Each whole batch of a file with what it says of itself; a torn one ends the file.

    HistoryError for bytes that a recorder which was killed cannot have left.
    """
    path = directory / f"{name}.arrow"
    if not path.is_file() or not path.stat().st_size:
        return
    # Not mapped: the run may still be recording, and a file cut short under a map is a crash.
    with pa.OSFile(str(path)) as file:
        size = file.size()
        try:
            stream = pa.ipc.open_stream(file)
        except (pa.ArrowException, OSError):
            refuse_unless_torn(path, 0, size)
            return
        if not stream.schema.equals(FILES[name]):
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
                return
            except (pa.ArrowException, OSError):
                refuse_unless_torn(path, at, size)
                return
            yield batch, {key.decode(): text.decode() for key, text in (says or {}).items()}
