"""Variable-length integers, as Kafka writes them, and the skipping of tagged fields."""

from io import BytesIO

import pytest
from kio.serial.writers import write_unsigned_varint
from kio.static.primitive import uvarint as their_uvarint

from broker.protocol.errors import MalformedMessageError
from broker.protocol.primitives import read_uvarint, skip_tagged_fields, uvarint


@pytest.mark.parametrize("value", [0, 1, 127, 128, 129, 16_383, 16_384, 2**28, 2**31 - 1, 2**32])
def test_a_varint_has_kafkas_bytes_and_comes_back(value: int) -> None:
    buffer = BytesIO()
    write_unsigned_varint(buffer, their_uvarint(value))
    assert uvarint(value) == buffer.getvalue()
    assert read_uvarint(b"??" + uvarint(value), 2) == (value, 2 + len(uvarint(value)))


def test_a_varint_of_six_bytes_is_refused() -> None:
    with pytest.raises(MalformedMessageError, match="five bytes"):
        read_uvarint(b"\x80\x80\x80\x80\x80\x01", 0)


def test_tagged_fields_are_skipped_to_the_byte_after_them() -> None:
    assert skip_tagged_fields(b"\x02\x00\x01a\x05\x02bcREST", 0, 12) == (8, 2)


def test_a_struct_of_nothing_but_tags_is_refused_before_they_are_skipped() -> None:
    many = uvarint(4_000_000) + b"\x00\x00" * 4_000_000
    with pytest.raises(MalformedMessageError, match="4000000 tagged fields"):
        skip_tagged_fields(many, 0, len(many))


def test_a_tagged_field_beyond_the_end_is_refused() -> None:
    with pytest.raises(MalformedMessageError, match="tagged field"):
        skip_tagged_fields(b"\x01\x00\x7fabc", 0, 6)
