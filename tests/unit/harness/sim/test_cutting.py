"""Frames are cut out of a stream however it comes; nothing is lost, added or moved."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.sim.cutting import CHUNK_BYTES_MAX, FrameCutter
from tests.unit.harness.sim.peers import frame


def test_whole_frames_are_whole_pieces() -> None:
    cutter = FrameCutter()
    frames = [frame(b"abcd"), frame(b"x" * 1000)]
    assert [tuple(piece) for piece in cutter.feed(b"".join(frames))] == [
        (each, True) for each in frames
    ]
    assert not cutter.has_partial
    assert cutter.flush() == []


@given(
    bodies=st.lists(st.binary(min_size=4, max_size=40), max_size=8),
    seed=st.integers(0, 1 << 32),
    tail=st.sampled_from([b"", b"GET / HTTP/1.1\r\n", b"\xff\xff\xff\xff junk", b"\0\0\0\1x"]),
)
@settings(max_examples=200, deadline=None)
def test_bytes_are_never_lost_and_frames_never_split(
    bodies: list[bytes], seed: int, tail: bytes
) -> None:
    dice = random.Random(seed)
    stream = b"".join(map(frame, bodies)) + tail
    cutter, pieces = FrameCutter(), []
    start = 0
    while start < len(stream):
        end = start + dice.randint(1, 50)
        pieces += cutter.feed(stream[start:end])
        start = end
    pieces += cutter.flush()
    assert b"".join(piece.data for piece in pieces) == stream
    assert [piece.data for piece in pieces if piece.is_frame] == [frame(body) for body in bodies]


@given(
    bodies=st.lists(st.binary(min_size=4, max_size=40), min_size=1, max_size=8),
    seed=st.integers(0, 1 << 32),
)
@settings(max_examples=200, deadline=None)
def test_after_an_impatient_flush_the_next_frame_is_found_again(
    bodies: list[bytes], seed: int
) -> None:
    dice = random.Random(seed)
    stream = b"".join(map(frame, bodies))
    cutter, pieces = FrameCutter(), []
    start = 0
    while start < len(stream):
        end = start + dice.randint(1, 50)
        pieces += cutter.feed(stream[start:end])
        if dice.random() < 0.3:
            pieces += cutter.flush()
        start = end
    pieces += cutter.flush()
    assert b"".join(piece.data for piece in pieces) == stream
    last = frame(b"the last one")
    assert [tuple(piece) for piece in cutter.feed(last)] == [(last, True)]


def test_what_is_no_frame_goes_in_chunks() -> None:
    pieces = FrameCutter().feed(bytes(3 * CHUNK_BYTES_MAX + 1))
    assert [len(piece.data) for piece in pieces] == [CHUNK_BYTES_MAX] * 3 + [1]
    assert not any(piece.is_frame for piece in pieces)
