"""CRC-32C of any buffer, by compiled code of ours or by a native library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google_crc32c import extend, value

# The library takes nothing but `bytes`, so a view has to be copied. Pieces of this size are still
# in the processor's cache when they are summed up: the copy costs next to nothing and never needs
# a second megabyte.
PIECE_SIZE = 32 * 1024


def crc32c_of_copies(view: memoryview | bytes, crc: int = 0, /) -> int:
    """Twice the time of the compiled function, because of the copies."""
    size = len(view)
    if size <= PIECE_SIZE:
        return int(extend(crc, bytes(view)) if crc else value(bytes(view)))
    for start in range(0, size, PIECE_SIZE):
        crc = extend(crc, bytes(view[start : start + PIECE_SIZE]))
    return int(crc)


if TYPE_CHECKING:

    def crc32c(view: memoryview | bytes, crc: int = 0, /) -> int:
        """`crc` is that of the bytes before these."""
else:
    try:
        from broker.protocol._native import crc32c
    except ImportError:
        crc32c = crc32c_of_copies
