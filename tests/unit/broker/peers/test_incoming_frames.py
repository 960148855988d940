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
    st.sampled_from([4, 20, 1 << 14]),
    st.booleans(),
)
def test_frames_survive_any_cutting(
    bodies: list[bytes], cuts: list[int], window_bytes: int, reuses_memory: bool
) -> None:
    found: list[bytes] = []
    frames = IncomingFrames(
        lambda frame: found.append(bytes(frame)),
        frame_bytes_max=LIMIT,
        reuses_memory=reuses_memory,
        window_bytes=window_bytes,
    )
    content = b"".join(map(framed, bodies))
    at = number = 0
    while at < len(content):
        size = cuts[number % len(cuts)]
        feed(frames, content[at : at + size])
        at, number = at + size, number + 1
    assert found == bodies


@pytest.mark.parametrize("window_bytes", [8, 1 << 14])
def test_a_frame_may_be_kept_while_others_come(window_bytes: int) -> None:
    kept: list[memoryview] = []
    frames = IncomingFrames(kept.append, frame_bytes_max=LIMIT, window_bytes=window_bytes)
    feed(frames, framed(b"first") + framed(b"second"))
    assert [bytes(each) for each in kept] == [b"first", b"second"]


def test_small_frames_that_came_together_are_read_together() -> None:
    found: list[bytes] = []
    frames = IncomingFrames(lambda frame: found.append(bytes(frame)), frame_bytes_max=LIMIT)
    content = framed(b"first") + framed(b"second") + framed(b"third")[:3]
    [buffer] = frames.receive_buffers()
    buffer[: len(content)] = content
    frames.received(len(content))
    assert found == [b"first", b"second"]
    feed(frames, framed(b"third")[3:])
    assert found[2:] == [b"third"]


def test_large_frames_take_turns_in_the_same_memory_where_that_is_wanted() -> None:
    kept: list[memoryview] = []
    frames = IncomingFrames(kept.append, frame_bytes_max=LIMIT, reuses_memory=True, window_bytes=8)
    feed(frames, framed(b"a" * 100))
    assert bytes(kept[0]) == b"a" * 100
    feed(frames, framed(b"b" * 60))
    assert bytes(kept[1]) == b"b" * 60
    assert kept[0].obj is kept[1].obj
    feed(frames, framed(b"c" * 200))
    assert bytes(kept[2]) == b"c" * 200


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
