"""The snapshot file: Kafka's layout, our window."""

from __future__ import annotations

from struct import unpack_from

import pytest
from google_crc32c import value

from broker.log.producer_snapshot import CorruptSnapshotError, decode, encode
from broker.log.producer_state import Producer, WrittenBatch

WINDOW = tuple(WrittenBatch(n * 3 + 2, 100 + n * 3, 2, 1000 + n) for n in range(5))
WRITER = Producer(7, 2, WINDOW, -1, 1004, 106, 55)
ENDED = Producer(9, 0, (), 4, 2000, None, 55)


def test_the_whole_window_comes_back() -> None:
    assert decode(encode([ENDED, WRITER]), seen_ms=55) == [WRITER, ENDED]


def test_the_layout_is_kafkas_version_1() -> None:
    content = encode([WRITER])
    version, crc, count = unpack_from(">hIi", content)
    assert (version, count) == (1, 5)
    assert crc == value(content[6:])
    assert len(content) == 10 + 5 * 46
    # Kafka keeps the last row of a producer, so that has to be its latest batch.
    assert unpack_from(">qhiqiqiq", content, 10 + 4 * 46) == (7, 2, 14, 112, 2, 1004, -1, 106)


def test_no_producers_are_a_snapshot_too() -> None:
    assert decode(encode([]), seen_ms=0) == []


@pytest.mark.parametrize("place", [0, 3, 12, 60])
def test_damage_is_noticed(place: int) -> None:
    content = bytearray(encode([WRITER]))
    content[place] ^= 0xFF
    with pytest.raises(CorruptSnapshotError):
        decode(bytes(content), seen_ms=0)


@pytest.mark.parametrize("size", [0, 5, 30])
def test_a_torn_snapshot_is_noticed(size: int) -> None:
    with pytest.raises(CorruptSnapshotError):
        decode(encode([WRITER])[:size], seen_ms=0)
