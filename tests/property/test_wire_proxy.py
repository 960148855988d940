"""However a stream is cut, whole frames come out of the proxy, in order, and none is bent."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.wire.match import Delay, Matcher, MessageFault
from harness.wire.message import with_length
from tests.unit.harness.wire.echo_brokers import PATIENCE_S, stage

FRAMES = st.lists(st.binary(min_size=0, max_size=300), min_size=1, max_size=8)
CUTS = st.lists(st.integers(0, 2000), max_size=12)


def pieces(stream: bytes, cuts: list[int]) -> list[bytes]:
    ends = sorted({cut for cut in cuts if 0 < cut < len(stream)} | {len(stream)})
    return [stream[start:end] for start, end in zip([0, *ends], ends, strict=False)]


@settings(deadline=None, max_examples=40)
@given(frames=FRAMES, cuts=CUTS, tail=st.binary(max_size=3), delayed=st.booleans())
def test_frames_survive_any_cutting(
    frames: list[bytes], cuts: list[int], tail: bytes, delayed: bool
) -> None:
    """Both ways: the broker sends each frame back as it came. `tail` is the half of a length."""

    async def act() -> None:
        async with stage(answer=lambda request: request) as play:
            if delayed:
                play.proxy.add(MessageFault("late", Matcher(direction="request"), Delay(0.01)))
            client = await play.client()
            stream = b"".join(map(with_length, frames))
            for piece in pieces(stream + tail, cuts):
                client.writer.write(piece)
                await client.writer.drain()
                # So that each comes by itself.
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            client.writer.write_eof()
            async with asyncio.timeout(PATIENCE_S):
                assert await client.reader.read() == stream
            assert play.broker.got == frames

    asyncio.run(act())
