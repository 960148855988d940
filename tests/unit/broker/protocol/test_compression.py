"""Five codecs: true to the data, bounded, and never another error than the one promised."""

from __future__ import annotations

import gzip
import os
import zlib
from contextlib import suppress

import cramjam
import lz4.frame
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from broker.protocol.batch import CorruptBatchError
from broker.protocol.compression import Codec, compress, compress_in_pieces, decompress
from broker.protocol.compression_settings import XERIAL_MAGIC
from broker.protocol.packing import packer

CODECS = list(Codec)
PACKING = [codec for codec in CODECS if codec is not Codec.NONE]
TEXT = b"the same words again and again " * 4000


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("data", [b"", b"x", TEXT, bytes(range(256)) * 300])
def test_data_come_back(codec: Codec, data: bytes) -> None:
    for form in (data, bytearray(data), memoryview(data)):
        packed = compress(codec, form)
        assert decompress(codec, packed, len(data)) == data
        assert decompress(codec, memoryview(packed), len(data)) == data


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("data", [b"", b"x", TEXT * 3])
def test_data_packed_in_pieces_come_back(codec: Codec, data: bytes) -> None:
    assert decompress(codec, b"".join(compress_in_pieces(codec, data)), len(data)) == data


def as_set_up_here(codec: Codec, data: bytes, level: int | None) -> tuple[bytes, bytes]:
    """The bytes as a whole and in pieces, by settings that stand in no module of the broker."""
    match codec:
        case Codec.GZIP:
            deflater = zlib.compressobj(-1 if level is None else level, wbits=31)
            packed = deflater.compress(data) + deflater.flush()
            return packed, packed
        case Codec.LZ4:
            lz4_level = level or 0
            framer = lz4.frame.LZ4FrameCompressor(compression_level=lz4_level, block_linked=False)
            in_pieces = framer.begin() + framer.compress(data) + framer.flush()
            whole = lz4.frame.compress(
                data, compression_level=lz4_level, block_linked=False, store_size=False
            )
            return whole, in_pieces
        case Codec.ZSTD:
            zstd = zstandard.ZstdCompressor(level=level or 3)
            stream = zstd.compressobj()
            return zstd.compress(data), stream.compress(data) + stream.flush()
        case Codec.SNAPPY:
            packed = b"\x82SNAPPY\0" + b"\0\0\0\1" * 2
            for at in range(0, len(data), 32768):
                block = bytes(cramjam.snappy.compress_raw(data[at : at + 32768]))
                packed += len(block).to_bytes(4, "big") + block
            return packed, packed
        case Codec.NONE:
            return data, data


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("level", [None, 1, 9])
@pytest.mark.parametrize("data", [b"", b"x", TEXT * 3, bytes(range(256)) * 300])
def test_the_bytes_are_those_of_the_settings(codec: Codec, level: int | None, data: bytes) -> None:
    whole, in_pieces = as_set_up_here(codec, data, level)
    assert compress(codec, data, level) == whole
    stream = packer(codec, level)
    assert stream.compress(data) + stream.flush() == in_pieces
    if level is None:
        assert b"".join(compress_in_pieces(codec, data)) == whole


@pytest.mark.parametrize("codec", PACKING)
def test_levels_are_taken(codec: Codec) -> None:
    assert decompress(codec, compress(codec, TEXT, 1), len(TEXT)) == TEXT
    assert decompress(codec, compress(codec, TEXT, 9), len(TEXT)) == TEXT


@pytest.mark.parametrize("codec", CODECS)
def test_one_byte_more_than_allowed_is_a_bomb(codec: Codec) -> None:
    with pytest.raises(CorruptBatchError):
        decompress(codec, compress(codec, TEXT), len(TEXT) - 1)


@pytest.mark.parametrize("codec", PACKING)
def test_every_truncation_is_corrupt(codec: Codec) -> None:
    packed = compress(codec, os.urandom(50) + TEXT[:300])
    for size in range(len(packed)):
        if codec is Codec.SNAPPY and size == 16:
            continue  # The bare header of the framing is an empty stream, not a cut one.
        with pytest.raises(CorruptBatchError):
            decompress(codec, packed[:size], 10_000)


@pytest.mark.parametrize("codec", PACKING)
@given(damage=st.data())
def test_damage_is_corrupt_or_harmless_but_never_another_error(
    codec: Codec, damage: st.DataObject
) -> None:
    packed = bytearray(compress(codec, TEXT[:500]))
    for _ in range(damage.draw(st.integers(1, 3))):
        packed[damage.draw(st.integers(0, len(packed) - 1))] = damage.draw(st.integers(0, 255))
    with suppress(CorruptBatchError):
        assert len(decompress(codec, packed, 5000)) <= 5000


@pytest.mark.parametrize("codec", PACKING)
@given(data=st.binary(max_size=100))
def test_noise_is_corrupt_or_small_but_never_another_error(codec: Codec, data: bytes) -> None:
    with suppress(CorruptBatchError):
        assert len(decompress(codec, data, 1000)) <= 1000


def test_gzip_of_the_standard_library_is_read_and_written() -> None:
    assert decompress(Codec.GZIP, gzip.compress(TEXT), len(TEXT)) == TEXT
    assert gzip.decompress(compress(Codec.GZIP, TEXT)) == TEXT


def test_gzip_in_several_members_is_one_stream() -> None:
    two = gzip.compress(b"ab") + gzip.compress(b"cd")
    assert decompress(Codec.GZIP, two, 4) == b"abcd"
    with pytest.raises(CorruptBatchError):
        decompress(Codec.GZIP, two, 3)


def test_bare_and_framed_snappy_are_both_read() -> None:
    bare = bytes(cramjam.snappy.compress_raw(TEXT))
    framed = compress(Codec.SNAPPY, TEXT)
    assert framed.startswith(XERIAL_MAGIC)
    assert decompress(Codec.SNAPPY, bare, len(TEXT)) == TEXT
    assert decompress(Codec.SNAPPY, framed, len(TEXT)) == TEXT


def test_a_snappy_block_that_claims_gigabytes_is_refused_before_it_is_allocated() -> None:
    with pytest.raises(CorruptBatchError, match="more than 1000 bytes"):
        decompress(Codec.SNAPPY, b"\xff\xff\xff\xff\x0f", 1000)


def test_lz4_blocks_do_not_refer_to_each_other() -> None:
    assert not lz4.frame.get_frame_info(compress(Codec.LZ4, TEXT * 10))["block_linked"]


def test_lz4_in_several_frames_is_one_stream() -> None:
    two = lz4.frame.compress(b"ab") + lz4.frame.compress(b"cd")
    assert decompress(Codec.LZ4, two, 4) == b"abcd"


def test_zstd_streams_without_a_size_are_read_and_bounded() -> None:
    packer = zstandard.ZstdCompressor().compressobj()
    stream = packer.compress(TEXT) + packer.flush()
    assert decompress(Codec.ZSTD, stream, len(TEXT)) == TEXT
    with pytest.raises(CorruptBatchError):
        decompress(Codec.ZSTD, stream, len(TEXT) - 1)


def test_a_codec_that_does_not_exist_is_corrupt() -> None:
    with pytest.raises(CorruptBatchError):
        decompress(5, b"", 10)
    with pytest.raises(ValueError, match="no codec 5"):
        compress(5, b"")


def test_a_gzip_bomb_costs_no_more_than_its_bound() -> None:
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(20)) + packer.flush()
    with pytest.raises(CorruptBatchError, match="more than 1000 bytes"):
        decompress(Codec.GZIP, bomb, 1000)
