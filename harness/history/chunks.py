"""Reads the chunks of a run, up to the last one that all files have as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from harness.history.errors import HistoryError
from harness.history.order import in_order
from harness.history.recorder import FILES
from harness.history.tables import Tables, assembled

_PARTS = ("keys", "values", "elements")


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
        if any(int(says[name]) > there[name] for name in _PARTS):
            break
        needed = {name: int(says[name]) for name in _PARTS}
        ops.append(batch)
    parts = {
        name: pa.Table.from_batches(batches, FILES[name]).slice(0, needed[name])
        for name, batches in read.items()
    }
    whole = pa.Table.from_batches(ops, FILES["ops"])
    return in_order(
        assembled(whole, parts["elements"], parts["keys"], parts["values"], str(directory))
    )


def _batches(directory: Path, name: str) -> Iterator[tuple[pa.RecordBatch, dict[str, str]]]:
    """Each whole batch of a file with what it says of itself; a torn one ends the file."""
    path = directory / f"{name}.arrow"
    if not path.is_file() or not path.stat().st_size:
        return
    # Not mapped: the run may still be recording, and a file cut short under a map is a crash.
    with pa.OSFile(str(path)) as file:
        try:
            stream = pa.ipc.open_stream(file)
        except (pa.ArrowInvalid, OSError):
            return
        if not stream.schema.equals(FILES[name]):
            raise HistoryError(
                "its columns are not those of a history",
                str(path),
                "it may have been recorded by another version",
            )
        while True:
            try:
                batch, says = stream.read_next_batch_with_custom_metadata()
            except (StopIteration, pa.ArrowInvalid, OSError):
                return
            yield batch, {key.decode(): text.decode() for key, text in (says or {}).items()}
