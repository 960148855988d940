"""One client's connection to a broker with ourselves in between: frames pass, or meet their fault.

Each direction is a line in which nobody overtakes. What is no frame, because another protocol is
spoken or a length is absurd, passes as it comes.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from collections.abc import Callable, Sequence

from broker.protocol.errors import MalformedMessageError
from harness.wire.match import Action, Delay, Drop, Duplicate, ReplaceByError
from harness.wire.message import Message, with_length
from harness.wire.tracker import ConnectionTracker, FrameReader

WINDOW_BYTES = 512 << 10
"""So much may wait in a line before its sender has to wait, too."""

_LINGER_NOT = struct.pack("ii", 1, 0)
_END_AFTER_S = 0.5
"""Time between a delayed message and the end of its stream. A broker that reads both at once
executes the request and sends no reply, so its answer would stay unknown."""
_OVER: bytes | None = None
"""In a line: the sender has closed its half, nothing follows."""

Decide = Callable[[Message], Sequence[Action]]
"""What becomes of a message; asked once for each."""


class Relay:
    """Made of two sockets that are connected already: one to the client, one to the broker."""

    def __init__(
        self, tracker: ConnectionTracker, decide: Decide, on_end: Callable[[], None]
    ) -> None:
        self._requests = _Way(tracker.request, decide, tracker.copied, self._over)
        self._replies = _Way(tracker.reply, decide, tracker.copied, self._over)
        self._client = _End(self._requests, self._replies, self._lost)
        self._broker = _End(self._replies, self._requests, self._lost)
        self._on_end = on_end

    async def start(self, client: socket.socket, broker: socket.socket) -> None:
        """Takes the sockets over. Nobody is heard before both can be answered."""
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: self._broker, sock=broker)
        await loop.connect_accepted_socket(lambda: self._client, sock=client)
        for end in (self._broker, self._client):
            end.begin()

    def abort(self) -> None:
        """Both sides see a reset."""
        for end in (self._client, self._broker):
            end.abort()

    def _over(self) -> None:
        """One side says no more, and was told so to the other; when both are silent, it ends."""
        if self._requests.is_over and self._replies.is_over:
            for end in (self._client, self._broker):
                end.close()

    def _lost(self, error: Exception | None) -> None:
        """One side is gone. By a reset, if it was not we who closed it: then so is the other."""
        if error is not None:
            self.abort()
        if self._client.is_lost and self._broker.is_lost:
            self._on_end()


class _End(asyncio.Protocol):
    """The socket of one side: what it says goes one way, what it hears comes the other."""

    def __init__(
        self, says: _Way, hears: _Way, when_lost: Callable[[Exception | None], None]
    ) -> None:
        self._says = says
        self._hears = hears
        self._when_lost = when_lost
        self._transport: asyncio.Transport | None = None
        self.is_lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.pause_reading()
        self._says.source = transport
        self._hears.target = transport

    def begin(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        self._says.received(data)

    def eof_received(self) -> bool:
        """True: it may still want to hear the rest."""
        self._says.ended()
        return True

    def pause_writing(self) -> None:
        self._hears.hold_back(True)

    def resume_writing(self) -> None:
        self._hears.hold_back(False)

    def connection_lost(self, error: Exception | None) -> None:
        self.is_lost = True
        self._hears.close()
        self._when_lost(error)

    def close(self) -> None:
        """What was written still goes."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        connected: socket.socket = transport.get_extra_info("socket")
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
        transport.abort()


class _Way:
    """From the socket of one side to that of the other."""

    def __init__(
        self,
        track: Callable[[bytes], Message],
        decide: Decide,
        copied: Callable[[Message], None],
        when_over: Callable[[], None],
    ) -> None:
        self.is_over = False
        self.source: asyncio.Transport | None = None
        self.target: asyncio.Transport | None = None
        self._track = track
        self._decide = decide
        self._copied = copied
        self._when_over = when_over
        self._frames = FrameReader()
        self._is_raw = False
        self._is_broken = False
        self._is_full = False
        self._line: deque[tuple[float, bytes | None]] = deque()
        self._line_bytes = 0
        self._due_s = 0.0
        self._timers: set[asyncio.TimerHandle] = set()

    def received(self, data: bytes) -> None:
        if self._is_raw:
            self._offer(data)
            return
        try:
            while frames := self._frames.feed(data):
                data = b""
                for frame in frames:
                    self._take(frame)
        except MalformedMessageError:
            self._is_raw = True
            self._offer(self._frames.rest())

    def ended(self) -> None:
        rest = self._frames.rest()
        if rest:
            self._offer(rest)
        if self._line:
            self._due_s += _END_AFTER_S
        self._put(_OVER, 0.0)

    def hold_back(self, is_full: bool) -> None:
        self._is_full = is_full
        self._pace()

    def close(self) -> None:
        """There is nobody at the far end any more."""
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        self._line.clear()
        self._line_bytes = 0

    def _take(self, frame: bytes) -> None:
        message = self._track(frame)
        if message.is_surplus:
            return
        actions = self._decide(message)
        if not actions:
            self._offer(with_length(frame))
            return
        if any(isinstance(action, Drop) for action in actions):
            self._is_broken = True
            return
        delay_s = 0.0
        copies: list[float] = []
        for action in actions:
            match action:
                case Delay(seconds):
                    delay_s += seconds
                case Duplicate(after_s):
                    self._copied(message)
                    copies.append(after_s)
                case ReplaceByError():
                    frame = action.replaced(message)
                case Drop():
                    raise AssertionError("has been seen to")
        self._offer(with_length(frame), delay_s, copies)

    def _offer(self, data: bytes, delay_s: float = 0.0, copies: list[float] | None = None) -> None:
        """A stream has no holes: behind a message that was dropped nothing arrives."""
        if self._is_broken:
            return
        self._put(data, delay_s)
        for after_s in copies or ():
            if after_s > 0:
                self._at(self._due_s + after_s, lambda: self._write(data))
            else:
                self._put(data, 0.0)

    def _put(self, data: bytes | None, delay_s: float) -> None:
        now_s = asyncio.get_running_loop().time()
        self._due_s = max(now_s + delay_s, self._due_s)
        if self._due_s <= now_s and not self._line:
            self._write(data)
            return
        self._line.append((self._due_s, data))
        self._line_bytes += len(data or b"")
        if len(self._line) == 1:
            self._at(self._due_s, self._let_go)
        self._pace()

    def _let_go(self) -> None:
        """Those whose time has come, in their order."""
        now_s = asyncio.get_running_loop().time()
        while self._line and self._line[0][0] <= now_s:
            _, data = self._line.popleft()
            self._line_bytes -= len(data or b"")
            self._write(data)
        if self._line:
            self._at(self._line[0][0], self._let_go)
        self._pace()

    def _at(self, when_s: float, act: Callable[[], None]) -> None:
        def due() -> None:
            self._timers.discard(timer)
            act()

        timer = asyncio.get_running_loop().call_at(when_s, due)
        self._timers.add(timer)

    def _write(self, data: bytes | None) -> None:
        target = self.target
        if target is None or target.is_closing() or self.is_over:
            return
        if data is not None:
            target.write(data)
            return
        self.is_over = True
        try:
            target.write_eof()
        except OSError:
            target.abort()
        self._when_over()

    def _pace(self) -> None:
        source = self.source
        if source is None or source.is_closing():
            return
        if self._is_full or self._line_bytes > WINDOW_BYTES:
            source.pause_reading()
        else:
            source.resume_reading()
