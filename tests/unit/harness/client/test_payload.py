"""A payload says what it is; one that does not fit is told as it came."""

from __future__ import annotations

from zlib import crc32

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from checkers.log.words import value_text
from harness.client.payload import decode, encode, value_of
from reports.wording import spelled

PLACES = st.from_regex(r"\A[a-z0-9._-]{1,20}-[0-9]{1,3}(/[ -~]{1,8})?\Z")
VALUES = st.integers(-(1 << 63), (1 << 63) - 1)


@given(PLACES, VALUES)
def test_what_was_put_in_comes_out(place: str, value: int) -> None:
    assert decode(encode(place, value), place) == value


@given(PLACES, PLACES, VALUES)
def test_a_record_of_another_place_is_told(place: str, other: str, value: int) -> None:
    assume(place != other)
    told = decode(encode(other, value), place)
    assert isinstance(told, str)
    assert told == f"misplaced: {encode(other, value).decode()}"


@given(PLACES, VALUES, st.data())
def test_no_changed_byte_passes(place: str, value: int, data: st.DataObject) -> None:
    payload = bytearray(encode(place, value))
    at = data.draw(st.integers(0, len(payload) - 1))
    payload[at] ^= data.draw(st.integers(1, 255))
    told = decode(bytes(payload), place)
    assert isinstance(told, str)
    assert told.partition(":")[0] in ("damaged", "foreign", "misplaced")


@given(st.binary(max_size=600), PLACES)
def test_foreign_bytes_are_no_error(payload: bytes, place: str) -> None:
    told = decode(payload, place)
    assert isinstance(told, str)
    assert told == decode(payload, place)


@pytest.mark.parametrize("digits", [b"1_000", b"+5", b" 5", b"007", b"-0", b"", b"\xb2"])
def test_a_number_has_one_form(digits: bytes) -> None:
    head = b"t-0 " + digits + b" "
    assert isinstance(decode(head + b"%08x" % crc32(head), "t-0"), str)


def test_long_foreign_payloads_stay_different() -> None:
    one, other = decode(b"x" * 1000 + b"1", "t-0"), decode(b"x" * 1000 + b"2", "t-0")
    assert one != other
    assert isinstance(one, str)
    assert len(one) < 400


def test_a_record_without_a_payload_has_no_value() -> None:
    assert decode(None, "t-0") is None


@given(st.integers(0, (1 << 31) - 2), st.integers(0, (1 << 32) - 1))
def test_client_and_sequence_are_in_the_value(client: int, sequence: int) -> None:
    value = value_of(client, sequence)
    assert (value >> 32, value & 0xFFFFFFFF) == (client + 1, sequence)
    assert value < 1 << 63


def test_no_value_passes_for_a_plain_number() -> None:
    assert spelled(value_of(0, 11)) == value_text(value_of(0, 11)) == "1:11"
    assert spelled(11) == value_text(11) == "11"


@pytest.mark.parametrize(
    ("client", "sequence"), [((1 << 31) - 1, 0), (0, 1 << 32), (-1, 0), (0, -1)]
)
def test_what_does_not_fit_is_refused(client: int, sequence: int) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        value_of(client, sequence)
