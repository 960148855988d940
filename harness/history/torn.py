"""Tells the end of a stream that was cut off from bytes that were never one.

A recorder that is killed leaves a beginning of what it would have written: its last message is not
there as a whole. That is the end of the file and no damage. A message that is all there and cannot
be read is damage, and so is anything that no message begins with.

An Arrow IPC message is 0xFFFFFFFF, the length of its metadata, the metadata (a flatbuffer, which
holds the kind of the message and the length of its body) and the body. A batch is one message for
each new dictionary, then its own: https://arrow.apache.org/docs/format/Columnar.html
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

from harness.history.errors import HistoryError

_CONTINUES = b"\xff\xff\xff\xff"
_PREFIX_BYTES = 8
_END_MARK = _CONTINUES + bytes(4)
_METADATA_MAX = 1 << 20
"""Ours have a few hundred bytes."""
_KIND_ENTRY, _BODY_ENTRY = 6, 10
"""Of fields 1 and 3 in the vtable of a Message, behind its two sizes."""
_DICTIONARY = 2
_LOOKED_AT_ONCE = 1 << 20


def has_end_mark(path: Path, at: int) -> bool:
    """Whether the stream says that it ends at this byte, rather than merely stopping there."""
    with path.open("rb") as file:
        file.seek(at)
        return file.read(_PREFIX_BYTES) == _END_MARK


def refuse_unless_torn(path: Path, at: int, size: int) -> None:
    """HistoryError unless the batch that begins at this byte was cut off by the file's end.

    `size` is that of the file before it was read: a run may be recording, and what was torn then
    may be whole by now.
    """
    with path.open("rb") as file:
        while at < size:
            end = _end_of_dictionary(path, file, at, size)
            if end is None:
                return
            at = end


def _end_of_dictionary(path: Path, file: BinaryIO, at: int, size: int) -> int | None:
    """Where the next message begins; None if this one is torn. Of a batch the rest is to come."""
    file.seek(at)
    prefix = file.read(_PREFIX_BYTES)
    if not _CONTINUES.startswith(prefix[:4]):
        # A file system that lost its power may have kept a length and no bytes.
        file.seek(at)
        if any(any(piece) for piece in iter(lambda: file.read(_LOOKED_AT_ONCE), b"")):
            raise _damaged(path, at, "no message of an Arrow stream begins here")
        return None
    if len(prefix) < _PREFIX_BYTES:
        return None
    length = int(struct.unpack_from("<i", prefix, 4)[0])
    if not 0 < length <= _METADATA_MAX:
        raise _damaged(path, at, f"no message has {length} bytes of metadata")
    metadata = file.read(length)
    if len(metadata) < length:
        return None
    try:
        kind, body = _field(metadata, _KIND_ENTRY, "<B"), _field(metadata, _BODY_ENTRY, "<q")
    except struct.error:
        raise _damaged(path, at, "the metadata of the message make no sense") from None
    end = at + _PREFIX_BYTES + length + max(0, body)
    if end > size:
        return None
    if kind != _DICTIONARY:
        raise _damaged(path, at, "the message that begins here cannot be read")
    return end


def _field(metadata: bytes, entry: int, form: str) -> int:
    """A number of the flatbuffer's root table; 0 where it is left out."""
    (table,) = struct.unpack_from("<I", metadata, 0)
    (back,) = struct.unpack_from("<i", metadata, table)
    (entries,) = struct.unpack_from("<H", metadata, table - back)
    (at,) = struct.unpack_from("<H", metadata, table - back + entry) if entries > entry else (0,)
    return int(struct.unpack_from(form, metadata, table + at)[0]) if at else 0


def _damaged(path: Path, at: int, what: str) -> HistoryError:
    return HistoryError(f"it is damaged: {what}", f"{path}, byte {at:,}")
