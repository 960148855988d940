"""How the library of each codec is set up, for batches in one piece and for those in many.

A level of None is the default of the library.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, TypedDict

import zstandard

if TYPE_CHECKING:
    from zlib import _Compress, _Decompress

_GZIP_WITH_HEADER = 31
"""The `wbits` of zlib: the largest window, and the header of gzip around the data."""

# The Java snappy library writes its blocks in a framing of its own; C clients write bare blocks.
XERIAL_MAGIC = b"\x82SNAPPY\x00"
XERIAL_HEADER = XERIAL_MAGIC + b"\x00\x00\x00\x01" + b"\x00\x00\x00\x01"
XERIAL_BLOCK_SIZE = 32 * 1024


class Lz4Settings(TypedDict):
    compression_level: int
    block_linked: bool


def gzip_compressor(level: int | None = None) -> _Compress:
    return zlib.compressobj(-1 if level is None else level, wbits=_GZIP_WITH_HEADER)


def gzip_decompressor() -> _Decompress:
    return zlib.decompressobj(wbits=_GZIP_WITH_HEADER)


def lz4_settings(level: int | None = None) -> Lz4Settings:
    # The Java client cannot read blocks that refer to the one before them.
    return {"compression_level": 0 if level is None else level, "block_linked": False}


def zstd_compressor(level: int | None = None) -> zstandard.ZstdCompressor:
    return zstandard.ZstdCompressor(level=3 if level is None else level)
