"""Frames come out as they were sent, however the bytes were cut on their way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.peers.incoming_frames import IncomingFrames

LIMIT = 1000


def framed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def feed(frames: IncomingFrames, content: bytes, most: int = 1 << 20) -> None:
    """As a connection does: into the buffers that are offered, up to what has arrived."""
    while content:
        [buffer] = frames.receive_buffers()
        count = min(len(buffer), len(content), most)
        assert count > 0
        buffer[:count] = content[:count]
        content = content[count:]
        frames.received(count)


@given(
    st.lists(st.binary(min_size=4, max_size=60), max_size=6),
    st.lists(st.integers(1, 40), min_size=1),
)
def test_frames_survive_any_cutting(bodies: list[bytes], cuts: list[int]) -> None:
    found: list[bytes] = []
    frames = IncomingFrames(lambda frame: found.append(bytes(frame)), frame_bytes_max=LIMIT)
    content = b"".join(map(framed, bodies))
    at = number = 0
    while at < len(content):
        size = cuts[number % len(cuts)]
        feed(frames, content[at : at + size])
        at, number = at + size, number + 1
    assert found == bodies


def test_a_frame_may_be_kept_while_others_come() -> None:
    kept: list[memoryview] = []
    frames = IncomingFrames(kept.append, frame_bytes_max=LIMIT)
    feed(frames, framed(b"first") + framed(b"second"))
    assert [bytes(each) for each in kept] == [b"first", b"second"]


@pytest.mark.parametrize("size", [0, 3, LIMIT + 1, 0xFFFFFFFF])
def test_a_length_that_no_answer_has_ends_the_connection(size: int) -> None:
    frames = IncomingFrames(lambda _: pytest.fail("no frame came"), frame_bytes_max=LIMIT)
    with pytest.raises(ConnectionError, match=f"an answer of {size} bytes"):
        feed(frames, size.to_bytes(4, "big"))


def test_the_largest_frame_is_taken() -> None:
    found: list[int] = []
    frames = IncomingFrames(lambda frame: found.append(len(frame)), frame_bytes_max=LIMIT)
    feed(frames, framed(b"x" * LIMIT))
    assert found == [LIMIT]
