"""The five codecs of a record batch. What comes out is bounded: a bomb is a corrupt batch."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from enum import IntEnum
from struct import Struct, error
from typing import cast

import cramjam
import lz4.frame
import zstandard
from lz4.frame import (
    create_decompression_context,
    decompress_chunk,
    reset_decompression_context,
)

from broker.protocol.batch import CorruptBatchError, TooMuchDataError
from broker.protocol.compression_settings import (
    XERIAL_BLOCK_SIZE,
    XERIAL_HEADER,
    XERIAL_MAGIC,
    gzip_compressor,
    gzip_decompressor,
    lz4_settings,
    zstd_compressor,
)
from broker.protocol.zstd_frames import WINDOW_LEAST, zstd_pieces


class Codec(IntEnum):
    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


GZIP_PIECE_SIZE = 64 * 1024

_INT32 = Struct(">I")
_ZSTD_SIZE_UNKNOWN = (0, 2**64 - 1, -1)

# Made once: a new one costs more than a small batch. They are used by the loop's thread alone.
_LZ4_CONTEXT = create_decompression_context()
_ZSTD_DECOMPRESSOR = zstandard.ZstdDecompressor()

_Bytes = bytes | bytearray | memoryview


def compress(codec: int, data: _Bytes, level: int | None = None) -> bytes:
    match codec:
        case Codec.NONE:
            return bytes(data)
        case Codec.GZIP:
            compressor = gzip_compressor(level)
            return compressor.compress(data) + compressor.flush()
        case Codec.SNAPPY:
            return _compress_xerial(memoryview(data))
        case Codec.LZ4:
            return cast("bytes", lz4.frame.compress(data, store_size=False, **lz4_settings(level)))
        case Codec.ZSTD:
            return zstd_compressor(level).compress(data)
        case _:
            raise ValueError(f"there is no codec {codec}")


def compress_in_pieces(codec: int, data: bytes) -> Iterator[bytes]:
    """The same as `compress`, but gzip, which is slow, hands out a piece every millisecond or so.

    A piece may be empty: the library keeps what it has not packed yet.
    """
    if codec != Codec.GZIP:
        yield compress(codec, data)
        return
    compressor = gzip_compressor()
    view = memoryview(data)
    for start in range(0, len(data), GZIP_PIECE_SIZE):
        yield compressor.compress(view[start : start + GZIP_PIECE_SIZE])
    yield compressor.flush()


def decompress(codec: int, data: _Bytes, max_bytes: int) -> bytes:
    """At most `max_bytes`, or CorruptBatchError: never more memory than that."""
    match codec:
        case Codec.NONE:
            return _bounded(bytes(data), max_bytes)
        case Codec.GZIP:
            return _decompress_gzip(data, max_bytes)
        case Codec.SNAPPY:
            return _decompress_snappy(memoryview(data), max_bytes)
        case Codec.LZ4:
            return _decompress_lz4(data, max_bytes)
        case Codec.ZSTD:
            return _decompress_zstd(data, max_bytes)
        case _:
            raise CorruptBatchError(f"there is no codec {codec}")


def _bounded(data: bytes, max_bytes: int) -> bytes:
    if len(data) > max_bytes:
        raise _too_much(max_bytes)
    return data


def _too_much(max_bytes: int) -> TooMuchDataError:
    return TooMuchDataError(f"the records decompress to more than {max_bytes} bytes")


def _decompress_gzip(data: _Bytes, max_bytes: int) -> bytes:
    pieces: list[bytes] = []
    room = max_bytes + 1
    rest = bytes(data)
    while True:
        unpacker = gzip_decompressor()
        try:
            piece = unpacker.decompress(rest, room)
        except zlib.error as problem:
            raise CorruptBatchError(f"not gzip data: {problem}") from None
        pieces.append(piece)
        room -= len(piece)
        if room <= 0:
            raise _too_much(max_bytes)
        if not unpacker.eof:
            raise CorruptBatchError("the gzip data end too early")
        rest = unpacker.unused_data
        if not rest:
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _decompress_lz4(data: _Bytes, max_bytes: int) -> bytes:
    pieces: list[bytes] = []
    room = max_bytes + 1
    rest = memoryview(data)
    reset_decompression_context(_LZ4_CONTEXT)
    while True:
        try:
            piece, count, is_end = decompress_chunk(_LZ4_CONTEXT, rest, max_length=room)
        except (RuntimeError, ValueError, MemoryError, EOFError) as problem:
            raise CorruptBatchError(f"not lz4 data: {problem}") from None
        pieces.append(piece)
        room -= len(piece)
        if room <= 0:
            raise _too_much(max_bytes)
        if not is_end:
            raise CorruptBatchError("the lz4 data end too early")
        rest = rest[count:]
        if not rest:
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _decompress_zstd(data: _Bytes, max_bytes: int) -> bytes:
    packed = bytes(data)
    try:
        # A frame that tells its size is believed by the library, whatever limit it is given.
        claimed = zstandard.frame_content_size(packed)
        if claimed not in _ZSTD_SIZE_UNKNOWN and claimed > max_bytes:
            raise _too_much(max_bytes)
        return _ZSTD_DECOMPRESSOR.decompress(
            packed, max_output_size=max_bytes, allow_extra_data=False
        )
    except (zstandard.ZstdError, MemoryError) as problem:
        if "full frame" in str(problem):
            # Streaming writers, such as Java's, do not tell the size of what they packed.
            raise _too_much(max_bytes) from None
        if "unused data" in str(problem):
            return _decompress_zstd_frames(packed, max_bytes)
        raise CorruptBatchError(f"not zstd data within {max_bytes} bytes: {problem}") from None


def _decompress_zstd_frames(packed: bytes, max_bytes: int) -> bytes:
    """The library's other way to unpack stops after the first frame."""
    pieces: list[bytes] = []
    room = max_bytes
    for piece in zstd_pieces(memoryview(packed), max_bytes + 1, WINDOW_LEAST):
        pieces.append(piece)
        room -= len(piece)
        if room < 0:
            raise _too_much(max_bytes)
    return b"".join(pieces)


def _compress_xerial(data: memoryview) -> bytes:
    chunks = [XERIAL_HEADER]
    for start in range(0, len(data), XERIAL_BLOCK_SIZE):
        chunks.append(xerial_block(data[start : start + XERIAL_BLOCK_SIZE]))
    return b"".join(chunks)


def xerial_block(data: _Bytes) -> bytes:
    block = bytes(cramjam.snappy.compress_raw(data))
    return _INT32.pack(len(block)) + block


def _decompress_snappy(data: memoryview, max_bytes: int) -> bytes:
    pieces: list[bytes] = []
    room = max_bytes
    for block in snappy_blocks(data):
        piece = unpack_snappy_block(block, room)
        pieces.append(piece)
        room -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def snappy_blocks(data: memoryview) -> Iterator[memoryview]:
    """The blocks of the Java library's framing, or the only one of a C client."""
    if bytes(data[: len(XERIAL_MAGIC)]) != XERIAL_MAGIC:
        yield data
        return
    position = len(XERIAL_HEADER)
    if len(data) < position:
        raise CorruptBatchError("the snappy header ends too early")
    while position < len(data):
        try:
            (size,) = _INT32.unpack_from(data, position)
        except error:
            raise CorruptBatchError("the snappy data end too early") from None
        position += _INT32.size
        if size > len(data) - position:
            raise CorruptBatchError("the snappy data end too early")
        yield data[position : position + size]
        position += size


def unpack_snappy_block(block: memoryview, max_bytes: int) -> bytes:
    try:
        # The block begins with the size of what it holds: asked before anything is allocated.
        if cramjam.snappy.decompress_raw_len(block) > max_bytes:
            raise _too_much(max_bytes)
        return bytes(cramjam.snappy.decompress_raw(block))
    except (cramjam.DecompressionError, ValueError, MemoryError) as problem:
        raise CorruptBatchError(f"not snappy data: {problem}") from None
