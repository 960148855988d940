"""Compression of data that come in pieces, for batches that are never held unpacked as a whole."""

from __future__ import annotations

from typing import Protocol, cast

import lz4.frame

from broker.protocol.compression import Codec, xerial_block
from broker.protocol.compression_settings import (
    XERIAL_BLOCK_SIZE,
    XERIAL_HEADER,
    gzip_compressor,
    lz4_settings,
    zstd_compressor,
)

_Bytes = bytes | bytearray | memoryview


class Packer(Protocol):
    """Both methods may return nothing yet: a library keeps what it has not packed."""

    def compress(self, data: _Bytes, /) -> bytes: ...
    def flush(self) -> bytes: ...


class _Unpacked:
    def compress(self, data: _Bytes, /) -> bytes:
        return bytes(data)

    def flush(self) -> bytes:
        return b""


class _Xerial:
    def __init__(self) -> None:
        self._kept = bytearray()
        self._header = XERIAL_HEADER

    def compress(self, data: _Bytes, /) -> bytes:
        self._kept += data
        whole = len(self._kept) - len(self._kept) % XERIAL_BLOCK_SIZE
        return self._blocks(whole)

    def flush(self) -> bytes:
        return self._blocks(len(self._kept))

    def _blocks(self, size: int) -> bytes:
        packed = [self._header]
        self._header = b""
        for start in range(0, size, XERIAL_BLOCK_SIZE):
            packed.append(xerial_block(bytes(self._kept[start : start + XERIAL_BLOCK_SIZE])))
        del self._kept[:size]
        return b"".join(packed)


class _Lz4:
    def __init__(self, level: int | None) -> None:
        self._packer = lz4.frame.LZ4FrameCompressor(**lz4_settings(level))
        self._header = cast("bytes", self._packer.begin())

    def compress(self, data: _Bytes, /) -> bytes:
        header, self._header = self._header, b""
        return header + cast("bytes", self._packer.compress(data))

    def flush(self) -> bytes:
        return self._header + cast("bytes", self._packer.flush())


def packer(codec: int, level: int | None) -> Packer:
    match codec:
        case Codec.NONE:
            return _Unpacked()
        case Codec.GZIP:
            return gzip_compressor(level)
        case Codec.SNAPPY:
            return _Xerial()
        case Codec.LZ4:
            return _Lz4(level)
        case Codec.ZSTD:
            return zstd_compressor(level).compressobj()
        case _:
            raise ValueError(f"there is no codec {codec}")
