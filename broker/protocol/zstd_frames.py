"""zstd data of any number of frames, unpacked piece by piece, and followed to their very end."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct, error

import zstandard

from broker.protocol.batch import CorruptBatchError, TooMuchDataError

WINDOW_LEAST = 8 << 20
"""What RFC 8878 asks of every decoder."""

_BLOCK_HEADER = 3
_RLE_BLOCK = 1
_CHECKSUM_FLAG = 0x04
_CHECKSUM_SIZE = 4
_LONGEST_HEADER = 18
_SKIPPABLE = b"\x2a\x4d\x18"
_SKIPPED_SIZE = Struct("<I")
_BLOCKS_AT_ONCE = 1000


def zstd_pieces(data: memoryview, piece_size: int, max_window: int) -> Iterator[bytes]:
    """What the frames hold, one after the other. A piece may be empty."""
    window = max(WINDOW_LEAST, max_window)
    unpacker = zstandard.ZstdDecompressor(max_window_size=window)
    try:
        with unpacker.stream_reader(data, read_across_frames=True) as reader:
            while piece := reader.read(piece_size):
                yield piece
    except (zstandard.ZstdError, MemoryError) as problem:
        if "too much memory" in str(problem):
            raise TooMuchDataError(
                f"the zstd data refer back to more than {window} bytes"
            ) from None
        raise CorruptBatchError(f"not zstd data: {problem}") from None
    # The reader takes the end of its input for the end of the data, wherever that is.
    yield from _check_end(data)


def _check_end(data: memoryview) -> Iterator[bytes]:
    """Follows the sizes of frames and blocks, which the reader found good, to the end."""
    position = blocks = 0
    try:
        while position < len(data):
            if data[position + 1 : position + 4] == _SKIPPABLE:
                position += 8 + _SKIPPED_SIZE.unpack_from(data, position + 4)[0]
                continue
            has_checksum = data[position + 4] & _CHECKSUM_FLAG
            head = bytes(data[position : position + _LONGEST_HEADER])
            position += zstandard.frame_header_size(head)
            is_last = 0
            while not is_last:
                low, middle, high = data[position : position + _BLOCK_HEADER]
                block = low | middle << 8 | high << 16
                is_last, kind, size = block & 1, block >> 1 & 3, block >> 3
                position += _BLOCK_HEADER + (1 if kind == _RLE_BLOCK else size)
                blocks += 1
                if blocks % _BLOCKS_AT_ONCE == 0:
                    yield b""
            if has_checksum:
                position += _CHECKSUM_SIZE
    except (error, IndexError, ValueError, zstandard.ZstdError):
        position = -1
    if position != len(data):
        raise CorruptBatchError("the zstd data end too early")
