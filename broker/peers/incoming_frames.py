"""Cuts the bytes that a connection brings into frames, each in memory of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

_PREFIX = 4


class IncomingFrames:
    """The reading half of a `Receiver`. A frame is handed on without its length prefix.

    Nobody else writes into a frame's memory: views of it may be kept.
    """

    def __init__(self, on_frame: Callable[[memoryview], None], *, frame_bytes_max: int) -> None:
        self._on_frame = on_frame
        self._frame_bytes_max = frame_bytes_max
        self._prefix = bytearray(_PREFIX)
        self._buffer = self._prefix
        self._received = 0

    def receive_buffers(self) -> Sequence[memoryview]:
        return (memoryview(self._buffer)[self._received :],)

    def received(self, count: int) -> None:
        """Raises ConnectionError for a length that no answer has."""
        self._received += count
        if self._received < len(self._buffer):
            return
        self._received = 0
        if self._buffer is self._prefix:
            size = int.from_bytes(self._prefix, "big")
            if not _PREFIX <= size <= self._frame_bytes_max:
                raise ConnectionError(f"an answer of {size} bytes")
            self._buffer = bytearray(size)
        else:
            frame, self._buffer = self._buffer, self._prefix
            self._on_frame(memoryview(frame))
