"""Cuts the bytes that a connection brings into frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence

_PREFIX = 4
_WINDOW_BYTES = 16 << 10
_REUSED_BYTES_MAX = 4 << 20


class IncomingFrames:
    """The reading half of a `Receiver`. A frame is handed on without its length prefix.

    Nobody else writes into a frame's memory, and views of it may be kept. Unless `reuses_memory`:
    then a frame is good until the next one begins, and no memory has to be found for it.
    """

    def __init__(
        self,
        on_frame: Callable[[memoryview], None],
        *,
        frame_bytes_max: int,
        reuses_memory: bool = False,
        window_bytes: int = _WINDOW_BYTES,
    ) -> None:
        self._on_frame = on_frame
        self._frame_bytes_max = frame_bytes_max
        self._reuses_memory = reuses_memory
        self._reused = memoryview(b"")
        # Several small frames come in one read. The rest of a large one goes where it will stay.
        self._window = memoryview(bytearray(window_bytes))
        self._in_window = 0
        self._large: memoryview | None = None
        self._in_large = 0

    def receive_buffers(self) -> Sequence[memoryview]:
        if self._large is not None:
            return (self._large[self._in_large :],)
        return (self._window[self._in_window :],)

    def received(self, count: int) -> None:
        """Raises ConnectionError for a length that no answer has."""
        if self._large is None:
            self._in_window += count
            self._cut()
            return
        self._in_large += count
        if self._in_large == len(self._large):
            frame, self._large = self._large, None
            self._on_frame(frame)

    def _cut(self) -> None:
        window, start, end = self._window, 0, self._in_window
        while end - start >= _PREFIX:
            size = int.from_bytes(window[start : start + _PREFIX], "big")
            if not _PREFIX <= size <= self._frame_bytes_max:
                raise ConnectionError(f"an answer of {size} bytes")
            body = start + _PREFIX
            if end - body < size:
                if _PREFIX + size > len(window):
                    self._begin_large(size, window[body:end])
                    return
                break
            start = body + size
            self._on_frame(memoryview(bytes(window[body:start])))
        self._in_window = end - start
        if start and start < end:
            window[: self._in_window] = window[start:end]

    def _begin_large(self, size: int, begun: memoryview) -> None:
        frame = self._memory(size)
        frame[: len(begun)] = begun
        self._large, self._in_large, self._in_window = frame, len(begun), 0

    def _memory(self, size: int) -> memoryview:
        if not self._reuses_memory or size > _REUSED_BYTES_MAX:
            return memoryview(bytearray(size))
        if size > len(self._reused):
            self._reused = memoryview(bytearray(size))
        return self._reused[:size]
