"""Tells the end of a stream that was cut off from bytes that were never one.

A recorder that is killed leaves a beginning of what it would have written: its last message is not
there as a whole. That is the end of the file and no damage. A message that is all there and cannot
be read is damage, and so is anything that no message begins with.

An Arrow IPC message is 0xFFFFFFFF, the length of its metadata, the metadata (a flatbuffer, which
holds the length of the body) and the body: https://arrow.apache.org/docs/format/Columnar.html
"""

from __future__ import annotations

import struct
from pathlib import Path

from harness.history.errors import HistoryError

_CONTINUES = b"\xff\xff\xff\xff"
_PREFIX_BYTES = 8
_METADATA_MAX = 1 << 20
"""Ours have a few hundred bytes."""
_BODY_LENGTH_ENTRY = 10
"""Of field 3 in the vtable of a Message, behind the two sizes."""
_LOOKED_AT_ONCE = 1 << 20


def refuse_unless_torn(path: Path, at: int) -> None:
    """HistoryError unless the message that begins at this byte was cut off by the file's end."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(at)
        prefix = file.read(_PREFIX_BYTES)
        if not _CONTINUES.startswith(prefix[:4]):
            # A file system that lost its power may have kept a length and no bytes.
            file.seek(at)
            if not any(any(piece) for piece in iter(lambda: file.read(_LOOKED_AT_ONCE), b"")):
                return
            raise _damaged(path, at, "no message of an Arrow stream begins here")
        if len(prefix) < _PREFIX_BYTES:
            return
        (length,) = struct.unpack_from("<i", prefix, 4)
        if not 0 < length <= _METADATA_MAX:
            raise _damaged(path, at, f"no message has {length} bytes of metadata")
        metadata = file.read(length)
    if len(metadata) < length:
        return
    try:
        body = _body_length(metadata)
    except (struct.error, IndexError):
        raise _damaged(path, at, "the metadata of the message make no sense") from None
    if at + _PREFIX_BYTES + length + body <= size:
        raise _damaged(path, at, "the message that begins here cannot be read")


def _body_length(metadata: bytes) -> int:
    (table,) = struct.unpack_from("<I", metadata, 0)
    (back,) = struct.unpack_from("<i", metadata, table)
    (entries,) = struct.unpack_from("<H", metadata, table - back)
    if entries <= _BODY_LENGTH_ENTRY:
        return 0
    (field,) = struct.unpack_from("<H", metadata, table - back + _BODY_LENGTH_ENTRY)
    (length,) = struct.unpack_from("<q", metadata, table + field) if field else (0,)
    return max(0, int(length))


def _damaged(path: Path, at: int, what: str) -> HistoryError:
    return HistoryError(f"it is damaged: {what}", f"{path}, byte {at:,}")
