"""One client's requests: cut out of the stream, handled one at a time, answered in order.

As in Kafka, a request is looked at only when the one before it on the same connection has been
answered. A request that arrived whole is handled in place, in the scratch buffer that all
connections share; what is left over moves to memory of the connection's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from functools import partial
from inspect import CORO_CREATED, getcoroutinestate
from struct import Struct
from types import CoroutineType
from typing import TYPE_CHECKING, Any
from weakref import ReferenceType, ref

from broker.api.later import Later
from broker.api.request import CloseConnectionError, Request, Undecoded
from broker.disk.interface import Buffer, FileSlice
from broker.network.interface import Connection
from broker.protocol.errors import MalformedMessageError
from broker.server.dispatch import Endpoint

if TYPE_CHECKING:
    from broker.server.server import Server

_read_length = Struct(">i").unpack_from
_SMALLEST_REQUEST = 8  # api key, version and correlation id
_FIRST_BUFFER_BYTES = 2 << 20
_GROWS_IN_PLACE_BYTES = 8 << 20
_SCRATCH_BEHIND_A_FRAME = 64 << 10
_BYTES_BEHIND_A_BUSY_REQUEST = 16 << 10
"""Read on that far while a request is under way, to notice a client that goes away."""
_REPLY_BYTES_TOGETHER = 64 << 10
UNSENT_BYTES_HIGH = 1 << 20


class ClientConnection:
    """The receiver of one connection's bytes; see broker/network/interface.py for who calls."""

    def __init__(self, server: Server, connection: Connection, listener: str) -> None:
        self._server = server
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._dispatcher = server.dispatcher
        self._memory = server.memory
        self._all_of_scratch = (server.scratch,)
        self._buffer: bytearray | None = None
        self._start = 0  # of the first request in the buffer that was not handled yet
        self._have = 0  # bytes of the buffer that are filled
        self._offered = 0  # bytes of the buffer that the network was offered to fill
        self._busy: tuple[asyncio.Task[None] | None, Endpoint] | None = None
        self._answer: ReferenceType[Coroutine[Any, Any, Any]] | None = None
        # Weak: only the task that awaits the answer keeps it.
        self._held_since: float | None = None
        self._throttle_ms = 0
        self._replies: list[Buffer | FileSlice] = []
        self._reply_bytes = 0
        self._closed = False
        self.last_active = self._began = self._loop.time()
        self.peer = connection.peer
        self._listener = listener

    @property
    def idle(self) -> bool:
        """Nothing asked that is not answered: a silent connection, to be closed in time."""
        return self._busy is None

    @property
    def holds_memory(self) -> bool:
        return self._buffer is not None

    @property
    def unsent_bytes(self) -> int:
        return self._connection.unsent_bytes

    # What the network calls

    def receive_buffers(self) -> Sequence[memoryview]:
        if self._buffer is None:
            self._offered = 0
            if self._busy is None and not self._memory.is_tight:
                return self._all_of_scratch
            return (self._server.scratch[:_BYTES_BEHIND_A_BUSY_REQUEST],)
        scratch = self._server.scratch
        end = max(self._have, min(len(self._buffer), self._start + self._wanted()))
        self._offered = end - self._have
        behind = _BYTES_BEHIND_A_BUSY_REQUEST if self._busy else _SCRATCH_BEHIND_A_FRAME
        return (memoryview(self._buffer)[self._have : end], scratch[:behind])

    def received(self, count: int) -> None:
        self.last_active = self._loop.time()
        if self._buffer is None:
            self._handle_scratch(count)
            self._send_replies()
            return
        into_buffer = min(count, self._offered)
        self._have += into_buffer
        if count >= self._offered:
            self._handle_buffer()
        rest = count - into_buffer
        if rest and not self._closed:
            self._handle_scratch(rest)
        self._send_replies()

    def drained(self) -> None:
        self.last_active = self._loop.time()
        self._go_on()

    def closed(self, error: Exception | None) -> None:
        self._closed = True
        self._server.connection_closed(self)
        if self._busy is not None:
            task, endpoint = self._busy
            if task is None:
                pass  # a `Later`, whose answer is dropped when it comes
            elif endpoint.api.may_be_abandoned:
                task.cancel()
                answer = None if self._answer is None else self._answer()
                if answer is not None and getcoroutinestate(answer) == CORO_CREATED:
                    answer.close()  # a task that is cancelled before its first step
            else:
                self._server.let_finish(task)
        if self._buffer is not None:
            self._memory.give_back(self._buffer, self)
            self._buffer = None
        self._memory.forget(self)

    def memory_available(self) -> None:
        """What `RequestMemory` calls when a connection that was held may go on."""
        if self._held_since is not None and not self._closed:
            held_s = self._loop.time() - self._held_since
            self._throttle_ms = max(1, int(held_s * 1000))
            self._held_since = None
            self._go_on()

    def close(self) -> None:
        self._connection.close()

    # Cutting requests out of the stream

    def _is_blocked(self) -> bool:
        return (
            self._closed
            or self._busy is not None
            or self._connection.unsent_bytes > UNSENT_BYTES_HIGH
        )

    def _wanted(self) -> int:
        """Bytes from `_start` to the end of the request there, as far as that is known."""
        assert self._buffer is not None
        if self._have - self._start < 4:
            return 4
        return 4 + int(_read_length(self._buffer, self._start)[0])

    def _handle_scratch(self, end: int) -> None:
        scratch = self._server.scratch
        start = self._handle_requests(scratch, 0, end) if self._buffer is None else 0
        if start == end or self._closed:
            return
        left = end - start
        joins = self._buffer is not None
        if self._buffer is None:
            self._buffer = self._memory.take(left, self)
            self._start = self._have = 0
        elif self._have + left > len(self._buffer):
            self._move_buffer(self._have - self._start + left)
        assert self._buffer is not None
        self._buffer[self._have : self._have + left] = scratch[start:end]
        self._have += left
        if joins:
            # A read that ended inside a request's length is followed by whole requests, and no
            # more bytes may ever come to have them looked at.
            self._handle_buffer()
        else:
            self._make_room()

    def _handle_buffer(self) -> None:
        assert self._buffer is not None
        view = memoryview(self._buffer)
        self._start = self._handle_requests(view, self._start, self._have)
        view.release()
        if self._closed:
            return
        if self._start == self._have:
            self._memory.give_back(self._buffer, self)
            self._buffer = None
            self._memory.request_complete(self)
        else:
            self._make_room()

    def _handle_requests(self, view: memoryview, start: int, end: int) -> int:
        """Handles what is there and may be handled now; returns where the rest begins."""
        longest = self._server.request_bytes_max
        while end - start >= 4 and not self._is_blocked():
            (length,) = _read_length(view, start)
            if not _SMALLEST_REQUEST <= length <= longest:
                self._refuse_length(length)
                return end
            start += 4
            if end - start < length:
                return start - 4
            self._handle(view[start : start + length])
            start += length
        return start

    def _refuse_length(self, length: int) -> None:
        self._refuse(
            f"a request of {length} bytes; {_SMALLEST_REQUEST} to "
            f"{self._server.request_bytes_max} (socket.request.max.bytes) are allowed; "
            "is it a Kafka client?"
        )

    def _make_room(self) -> None:
        """Readies the buffer for the rest of a request, or stops reading until it may go on."""
        assert self._buffer is not None
        if self._is_blocked():
            self._pause_if_enough_waits()
            return
        wanted = self._wanted()
        have = self._have - self._start
        if not 4 <= wanted <= 4 + self._server.request_bytes_max:
            self._refuse_length(wanted - 4)
            return
        # A length that is only claimed gets two megabytes; more comes as the bytes do.
        # From some size on the buffer grows in place, by steps: to copy, or only to clear, fifty
        # megabytes at once would keep all other connections waiting.
        grows = self._start == 0 and len(self._buffer) >= _GROWS_IN_PLACE_BYTES
        step = have + _GROWS_IN_PLACE_BYTES if grows else 2 * have
        size = min(wanted, max(_FIRST_BUFFER_BYTES, step))
        if self._start + size > len(self._buffer):
            taken = size - len(self._buffer) if grows else size
            if not self._memory.may_take(
                self, taken, request_bytes=wanted, held_bytes=len(self._buffer)
            ):
                self._held_since = self._loop.time()
                self._memory.wait(self, request_bytes=wanted)
                self._connection.pause_reading()
                return
            if not (grows and self._memory.grow(self._buffer, size, self)):
                self._move_buffer(size)

    def _pause_if_enough_waits(self) -> None:
        waits = self._have - self._start
        if waits >= _BYTES_BEHIND_A_BUSY_REQUEST or self._memory.saturated:
            self._connection.pause_reading()

    def _move_buffer(self, size: int) -> None:
        assert self._buffer is not None
        old, have = self._buffer, self._have - self._start
        self._buffer = self._memory.take(max(size, have), self)
        self._buffer[:have] = memoryview(old)[self._start : self._have]
        self._start, self._have = 0, have
        self._memory.give_back(old, self)

    def _go_on(self) -> None:
        """After a reply, a drain or a wait for memory: what stands in the buffer, then more."""
        if self._is_blocked() or self._held_since is not None:
            return
        if self._buffer is not None:
            self._handle_buffer()
        self._send_replies()
        if not self._is_blocked() and self._held_since is None:
            self._connection.resume_reading()

    # Handling one request

    def _handle(self, frame: memoryview) -> None:
        self._began = self.last_active  # when it came, or when the one before it was answered
        try:
            endpoint, request = self._dispatcher.begin(frame, self.peer, self._listener)
            result: Any
            if type(request.body) is Undecoded:
                result = self._server.wide_requests.answer(endpoint.handler, request)
            else:
                result = endpoint.handler(self._dispatcher.node, request)
            kind = type(result)
            if kind is CoroutineType:
                work = self._finish(endpoint, request, result)
                self._answer = ref(result)
                self._busy = self._loop.create_task(work), endpoint
            elif kind is Later:
                self._busy = None, endpoint
                result.then(partial(self._answered, endpoint, request))
            else:
                self._reply(endpoint, request, result)
        except Exception as error:
            self._give_up(error)

    def _answered(self, endpoint: Endpoint, request: Request[Any], result: Any) -> None:
        """Called in the middle of a coordinator's work, so the next request waits for a turn."""
        self._busy = None
        if self._closed:
            return
        try:
            self._reply(endpoint, request, result)
            self._send_replies()
        except Exception as error:
            self._give_up(error)
        if self._buffer is not None:
            self._loop.call_soon(self._go_on)

    async def _finish(
        self, endpoint: Endpoint, request: Request[Any], answer: Coroutine[Any, Any, Any]
    ) -> None:
        try:
            result = await answer
            frame = None
            if request.breather is not None and result is not None and not self._closed:
                self._say_throttled(result)
                self._dispatcher.forget_body(request)
                frame = await self._dispatcher.frame_in_slices(endpoint, request, result)
            self._busy = None
            if not self._closed:
                self._reply(endpoint, request, result, frame)
                self._go_on()
        except Exception as error:
            self._busy = None
            self._give_up(error)
        finally:
            if request.lease is not None:
                request.lease.end()

    def _reply(
        self,
        endpoint: Endpoint,
        request: Request[Any],
        result: Any,
        frame: list[Buffer | FileSlice] | None = None,
    ) -> None:
        """`frame` is the result as a response, if that was made already."""
        self.last_active = now = self._loop.time()
        self._dispatcher.done(request, now - self._began)
        if result is None:
            return
        if self._throttle_ms and frame is None:
            self._say_throttled(result)
        chunks = self._dispatcher.frame(endpoint, request, result) if frame is None else frame
        self._replies += chunks
        for chunk in chunks:
            self._reply_bytes += len(chunk)
        if self._reply_bytes > _REPLY_BYTES_TOGETHER:
            self._send_replies()

    def _say_throttled(self, result: Any) -> None:
        if self._throttle_ms and hasattr(result, "throttle_time_ms"):
            result.throttle_time_ms = self._throttle_ms
            self._server.metrics.request_throttled()
            self._throttle_ms = 0

    def _send_replies(self) -> None:
        """The small replies to what one read brought leave together."""
        if self._replies and not self._closed:
            replies, self._replies, self._reply_bytes = self._replies, [], 0
            self._connection.send(replies)
            if self._connection.unsent_bytes > UNSENT_BYTES_HIGH:
                self._connection.pause_reading()

    def _give_up(self, error: Exception) -> None:
        """Closes: for the client's mistake with a sentence, for ours with a traceback."""
        if isinstance(error, MalformedMessageError | CloseConnectionError):
            self._refuse(str(error))
        else:
            self._server.lines.error(
                self.peer.host, "a request of %s could not be handled", self.peer, exc_info=error
            )
            self.close()

    def _refuse(self, reason: str) -> None:
        self._server.lines.warning(
            self.peer.host, "closing the connection of %s: %s", self.peer, reason
        )
        self._server.metrics.request_malformed()
        self.close()
