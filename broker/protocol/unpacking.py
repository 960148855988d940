"""Decompression through a small buffer: what comes out is handed on in pieces and forgotten.

A batch of a few kilobytes may unpack to gigabytes. Whoever looks at its records this way never
holds more than a piece, and may do something else between two of them.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from lz4.frame import create_decompression_context, decompress_chunk

from broker.protocol.batch import CorruptBatchError, TooMuchDataError
from broker.protocol.compression import (
    Codec,
    snappy_blocks,
    unpack_snappy_block,
)
from broker.protocol.compression_settings import gzip_decompressor
from broker.protocol.zstd_frames import zstd_pieces

PIECE_SIZE = 64 * 1024

SMALLEST_WORK_AREA = 1 << 20
WORK_AREA_PER_BYTE = 8
"""Of a batch. A snappy block is unpacked as a whole, and a zstd frame refers back to a window of
what was unpacked before, so either takes memory that its sender chooses. Both are bounded by a
multiple of what was sent; clients split a batch that is refused for it."""

Piece = bytes | memoryview


def unpack_in_pieces(codec: int, data: memoryview, max_bytes: int) -> Iterator[Piece]:
    """Raises CorruptBatchError where the data are damaged, TooMuchDataError after `max_bytes`."""
    left = max_bytes
    for piece in _pieces(codec, data):
        left -= len(piece)
        if left < 0:
            raise TooMuchDataError(f"the records decompress to more than {max_bytes} bytes")
        yield piece


def _pieces(codec: int, data: memoryview) -> Iterator[Piece]:
    match codec:
        case Codec.NONE:
            return (data[at : at + PIECE_SIZE] for at in range(0, len(data), PIECE_SIZE))
        case Codec.GZIP:
            return _gzip_pieces(data)
        case Codec.SNAPPY:
            return _snappy_pieces(data)
        case Codec.LZ4:
            return _lz4_pieces(data)
        case Codec.ZSTD:
            return zstd_pieces(data, PIECE_SIZE, _work_area(data))
        case _:
            raise CorruptBatchError(f"there is no codec {codec}")


def _work_area(data: memoryview) -> int:
    return max(SMALLEST_WORK_AREA, len(data) * WORK_AREA_PER_BYTE)


def _gzip_pieces(data: memoryview) -> Iterator[Piece]:
    unpacker = gzip_decompressor()
    rest: Piece = b""
    position = 0
    while True:
        if not rest:
            rest = data[position : position + PIECE_SIZE]
            position += len(rest)
            if not rest:
                raise CorruptBatchError("the gzip data end too early")
        try:
            yield unpacker.decompress(rest, PIECE_SIZE)
        except zlib.error as problem:
            raise CorruptBatchError(f"not gzip data: {problem}") from None
        if not unpacker.eof:
            rest = unpacker.unconsumed_tail
            continue
        rest = unpacker.unused_data
        if not rest and position >= len(data):
            return
        unpacker = gzip_decompressor()


def _snappy_pieces(data: memoryview) -> Iterator[Piece]:
    for block in snappy_blocks(data):
        yield unpack_snappy_block(block, _work_area(data))


def _lz4_pieces(data: memoryview) -> Iterator[Piece]:
    context = create_decompression_context()
    position = 0
    is_end = False
    while not is_end or position < len(data):
        chunk = data[position : position + PIECE_SIZE]
        try:
            piece, count, is_end = decompress_chunk(context, chunk, max_length=PIECE_SIZE)
        except (RuntimeError, ValueError, MemoryError, EOFError) as problem:
            raise CorruptBatchError(f"not lz4 data: {problem}") from None
        if not count and not piece and not is_end:
            raise CorruptBatchError("the lz4 data end too early")
        position += count
        yield piece
