"""Writes a history down while it happens, so that no kill of this process can spoil it.

A chunk goes to all four files, and to `ops` last: its batch says how many rows of the other files
it needs, so that chunks.py can leave out whatever did not arrive whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from harness.history import schema
from harness.history.columns import Columns
from harness.history.errors import HistoryError
from harness.history.op import OpType

CHUNK_ROWS_MAX: Final = 65_536

FILES: Final = {
    "keys": schema.KEYS,
    "values": schema.VALUES,
    "elements": schema.RECORDED_ELEMENTS,
    "ops": schema.OPS,
}
"""In the order of writing."""


class Recorder:
    """Its owner calls flush() once a second or so; a chunk that is full does not wait for it."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        if any((directory / f"{name}.arrow").exists() for name in FILES):
            raise HistoryError(
                "a history is there already", str(directory), "record into a new directory"
            )
        self._columns = Columns()
        self._count = 0
        self._streams = {
            name: _Stream(directory / f"{name}.arrow", fields) for name, fields in FILES.items()
        }
        self._is_open = True
        self._failure: OSError | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __len__(self) -> int:
        """Rows recorded so far."""
        return self._count

    def record(
        self,
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
        """TypeError if the value is nothing that JSON can tell; the history is then as before."""
        if not self._is_open:
            raise ValueError("the recorder is closed")
        if self._failure is not None:
            raise self._failure
        self._columns.add(
            self._count, time_ns, process, type, f, value, error, node, extra, timestamps
        )
        self._count += 1
        if self._columns.waiting >= CHUNK_ROWS_MAX:
            self.flush()

    def flush(self) -> None:
        """What was recorded is with the operating system when this returns.

        A disk that is full ends the recording: what was written until then can be read, as after a
        kill, and whatever is recorded later raises the same OSError.
        """
        if self._failure is not None:
            raise self._failure
        if not self._columns.waiting:
            return
        try:
            self._write()
        except OSError as error:
            self._failure = error
            raise

    def _write(self) -> None:
        chunk = self._columns.take()
        self._streams["keys"].write(chunk.keys)
        self._streams["values"].write(chunk.values)
        self._streams["elements"].write(chunk.elements)
        needs = {
            "elements": str(chunk.elements_count),
            "keys": str(chunk.keys_count),
            "values": str(chunk.values_count),
        }
        self._streams["ops"].write(chunk.ops, needs)

    def close(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        with ExitStack() as closing:
            for stream in self._streams.values():
                closing.callback(self._close, stream)
            self.flush()

    def _close(self, stream: _Stream) -> None:
        stream.close(is_whole=self._failure is None)


class _Stream:
    def __init__(self, path: Path, fields: pa.Schema) -> None:
        # Without a buffer in this process: what was written is out of a kill's reach.
        self._file = pa.OSFile(str(path), "wb")
        options = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
        self._writer = pa.ipc.new_stream(self._file, fields, options=options)

    def write(self, batch: pa.RecordBatch, says: Mapping[str, str] | None = None) -> None:
        if batch.num_rows:
            self._writer.write_batch(batch, custom_metadata=says)

    def close(self, *, is_whole: bool) -> None:
        """Behind a batch that was not written whole, no end of the stream is marked."""
        try:
            if is_whole:
                self._writer.close()
        finally:
            self._file.close()
