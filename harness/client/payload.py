"""What stands in a record, so that it speaks for itself: its place, its value, a checksum.

A value is an int64, `producer << 32 | sequence`, so no two sends of a run have the same one. The
producer is the client's number from 1, as in its name: reports spell the value of client c1's
record 5 `1:5`. Counting from 1 makes every value larger than 32 bits, so that it is never taken for
a plain number. In a log it is a text, `queue1-3 4294967301 8f3c21ab`, which a person can read in a
dump. The place is the history's key: `topic-partition`; `topic-partition/name` where records have
names; `topic/name` where the client chooses the partition, so that nobody knows it before.
"""

from __future__ import annotations

from zlib import crc32

_SEQUENCE_BITS = 32
_CLIENTS_MAX = (1 << 31) - 1
_CHECKSUM_DIGITS = 8
_SHOWN_MAX = 256


def value_of(client: int, sequence: int) -> int:
    """`client` counts from 0, as everywhere in the code; its producer's number from 1."""
    if not 0 <= client < _CLIENTS_MAX or not 0 <= sequence < 1 << _SEQUENCE_BITS:
        raise ValueError(f"client {client} and sequence {sequence} do not fit into an int64")
    return client + 1 << _SEQUENCE_BITS | sequence


def encode(place: str, value: int) -> bytes:
    head = b"%b %d " % (place.encode(), value)
    return b"%b%08x" % (head, crc32(head))


def decode(payload: bytes | None, *places: str) -> int | str | None:
    """The value, if it is of one of these places; a tombstone has none.

    What does not fit is told as it came, in words: it is a finding, not an error.
    """
    if payload is None:
        return None
    their_place, value = _taken_apart(payload)
    if value is None:
        return f"foreign: {_shown(payload)}"
    if encode(their_place, value) != payload:
        return f"damaged: {_shown(payload)}"
    return value if their_place in places else f"misplaced: {_shown(payload)}"


def _taken_apart(payload: bytes) -> tuple[str, int | None]:
    head, blank = payload[: -_CHECKSUM_DIGITS - 1], payload[-_CHECKSUM_DIGITS - 1 :][:1]
    place, _, digits = head.rpartition(b" ")
    # Of the texts that int() takes, only the plain one is what somebody wrote here.
    if blank != b" " or not place or not digits.removeprefix(b"-").isdigit() or len(digits) > 20:
        return "", None
    try:
        return place.decode(), int(digits)
    except UnicodeDecodeError:
        return "", None


def _shown(payload: bytes) -> str:
    text = payload[:_SHOWN_MAX].decode(errors="backslashreplace")
    left = len(payload) - _SHOWN_MAX
    return text if left <= 0 else f"{text} and {left} bytes more, crc32 {crc32(payload):08x}"
