"""A walk over the batches of a file that may be cold, damaged or torn."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple

from broker.disk.interface import File
from broker.log.breather import Breather
from broker.protocol.batch import (
    CRC_START,
    HEADER_SIZE,
    MAGIC,
    BatchHeader,
    CorruptBatchError,
    read_header,
    verify_crc,
)
from broker.protocol.checksum import crc32c

WINDOW_SIZE = 1 << 20
HEADER_WINDOW_SIZE = 1 << 16


class FoundBatch(NamedTuple):
    position: int
    header: BatchHeader
    batch: memoryview | None  # None when it is longer than a window


async def read(file: File, position: int, length: int) -> bytes:
    await file.warm(position, length)
    return file.pread(length, position)


async def walk_batches(
    file: File, start: int, end: int, breather: Breather, *, verify: bool = False
) -> AsyncIterator[FoundBatch]:
    """Ends at the first byte that is no whole batch. `verify` looks at each CRC, too."""
    window_size = WINDOW_SIZE if verify else HEADER_WINDOW_SIZE
    window = memoryview(b"")
    window_start = position = start
    while position + HEADER_SIZE <= end:
        at = position - window_start
        if at + HEADER_SIZE > len(window):
            window = memoryview(await read(file, position, min(window_size, end - position)))
            window_start, at = position, 0
        try:
            header = read_header(window, at)
        except CorruptBatchError:
            return
        size = header.size
        if header.magic != MAGIC or position + size > end:
            return
        if at + size > len(window) and at and size <= window_size:
            window = memoryview(await read(file, position, min(window_size, end - position)))
            window_start, at = position, 0
        batch = window[at : at + size] if at + size <= len(window) else None
        if verify and not (
            verify_crc(batch, 0, header)
            if batch is not None
            else await _crc_by_pieces(file, position, size, breather) == header.crc
        ):
            return
        yield FoundBatch(position, header, batch)
        position += size
        await breather.pause()


async def _crc_by_pieces(file: File, position: int, size: int, breather: Breather) -> int:
    """A length that damage made huge must not become a huge buffer."""
    crc = 0
    for start in range(position + CRC_START, position + size, WINDOW_SIZE):
        length = min(WINDOW_SIZE, position + size - start)
        crc = crc32c(memoryview(await read(file, start, length)), crc)
        await breather.pause()
    return crc
