"""One end of a simulated connection, as its process holds it: the twin of SocketConnection."""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context, copy_context
from typing import TYPE_CHECKING

from broker.disk.interface import Buffer, FileSlice
from broker.network.interface import Address, Connection, Receiver
from harness.sim.flow import Flow
from harness.sim.lives import Life
from harness.sim.parcels import Parcel, ParcelKind

if TYPE_CHECKING:
    from harness.sim.conversation import Conversation
    from harness.sim.network import Host, SimNetwork


class SimConnection:
    """What the kernel does to it (`arrived`, `drained`) may come while its process is paused."""

    def __init__(
        self,
        network: SimNetwork,
        host: Host,
        own_address: Address,
        peer: Address,
        conversation: Conversation,
        *,
        out: Flow,
        into: Flow,
        life: Life,
        is_server: bool,
    ) -> None:
        self.name = conversation.connection
        self.own_address = own_address
        self.peer = peer
        self.unsent_bytes = 0
        self.host = host
        self.life = life
        self.is_closed = False
        self.when_opened: Callable[[SimConnection, int], None] | None = None
        self._network = network
        self._loop = network.loop
        self._conversation = conversation
        self._is_server = is_server
        self._out = out
        self._into = into
        self._inbox: deque[Parcel] = deque()
        self._is_reading = False
        self._is_take_due = False
        self._is_broken = False
        self._receiver: Receiver | None = None
        self._take_bytes: Callable[[bytes], None] | None = None
        self._on_end: Callable[[], bool] | None = None
        self._context: Context = copy_context()

    @property
    def is_reading(self) -> bool:
        return self._is_reading

    # What its process does

    def start(
        self,
        receiver: Receiver,
        *,
        take_bytes: Callable[[bytes], None] | None = None,
        on_end: Callable[[], bool] | None = None,
    ) -> None:
        """A transport takes bytes as they are, and may stay when the peer sends no more."""
        self._receiver = receiver
        self._take_bytes = take_bytes
        self._on_end = on_end
        self._context = copy_context()
        self.resume_reading()

    def send(self, chunks: Sequence[Buffer | FileSlice]) -> None:
        if self.is_closed:
            return
        if self._is_broken:
            self._loop.call_soon(self._close, self._reset())
            return
        try:
            data = _joined(chunks)
        except OSError as error:
            self._close(error)
            return
        self._out.push(data)

    def send_file(self, piece: FileSlice) -> None:
        self.send((piece,))

    def pause_reading(self) -> None:
        self._is_reading = False

    def resume_reading(self) -> None:
        if not self._is_reading and not self.is_closed:
            self._is_reading = True
            self._take_later()

    def send_end(self) -> None:
        """No more will be sent; the other direction stays open."""
        row = self._network.trace.emit("close", self.host.name, self.name, detail="half")
        self._out.end(ParcelKind.END, row)

    def close(self) -> None:
        self._close(None)

    def abort(self) -> None:
        """As a closed socket with SO_LINGER 0: the peer sees a reset."""
        self._close(None, ParcelKind.RESET)

    def _close(
        self, error: Exception | None, last_word: ParcelKind | None = ParcelKind.END
    ) -> None:
        if self.is_closed:
            return
        detail = "" if error is None else type(error).__name__
        row = self._network.trace.emit("close", self.host.name, self.name, detail=detail)
        self._leave()
        if last_word is not None:
            self._out.end(last_word, row)
        if self._receiver is not None:
            self._receiver.closed(error)

    def _leave(self) -> None:
        self.is_closed = True
        self._is_reading = False
        self.unsent_bytes = 0
        for parcel in self._inbox:
            if parcel.kind is ParcelKind.DATA and parcel.taken == 0:
                self._conversation.tell("drop", parcel, self.host.name, "unread")
        self._inbox.clear()
        self.host.connections.pop(self, None)

    # What the kernel does

    def vanish(self, row: int, *, with_reset: bool) -> None:
        """Its process is gone: nobody is told on this side."""
        self._leave()
        if with_reset:
            self._out.end(ParcelKind.RESET, row)
        else:
            self._out.fall_silent()

    def reset_after_silence(self, row: int) -> None:
        self._out.reset_after_silence(row)

    def arrived(self, parcel: Parcel) -> None:
        if self.is_closed:
            self._refuse(parcel)
            return
        if parcel.kind is ParcelKind.OPEN:
            assert self.when_opened is not None
            self.when_opened(self, parcel.row)
            return
        self._inbox.append(parcel)
        if parcel.kind is ParcelKind.RESET:
            self._is_broken = True
            if self.unsent_bytes:
                self._tell_later(parcel.row, self._close, self._reset(), None)
        self._take_later()

    def _refuse(self, parcel: Parcel) -> None:
        if parcel.kind is ParcelKind.DATA:
            why = "closed" if self.host.is_up else "host down"
            self._conversation.tell("drop", parcel, self.host.name, why)
            self._into.consumed(len(parcel.data))

    def drained(self) -> None:
        if self._receiver is not None and not self.is_closed:
            self._tell_later(0, self._tell_drained)

    def _tell_drained(self) -> None:
        if self._receiver is not None and not self.is_closed:
            self._receiver.drained()

    def _tell_later(self, cause: int, tell: Callable[..., None], *args: object) -> None:
        self._loop.call_in_life(self.life, self._context, cause, tell, *args)

    def _take_later(self) -> None:
        """One at a time: what a message sets off in its process begins before the next comes."""
        if self._is_reading and self._inbox and not self._is_take_due:
            self._is_take_due = True
            self._loop.call_in_life(self.life, self._context, self._inbox[0].row, self._take)

    def _take(self) -> None:
        """In the process: hands over what has arrived, if it is wanted."""
        self._is_take_due = False
        inbox = self._inbox
        if not inbox or not self._is_reading:
            return
        parcel = inbox[0]
        if parcel.kind is ParcelKind.DATA:
            if parcel.taken == 0:
                self._delivered(parcel)
            self._hand_over(parcel)
            if inbox and parcel.taken == len(parcel.data):
                inbox.popleft()
                self._into.consumed(parcel.taken)
        else:
            inbox.popleft()
            self._take_last_word(parcel)
        if inbox:
            self._take_later()

    def _delivered(self, parcel: Parcel) -> None:
        row = self._network.trace.emit(
            "deliver",
            self.host.name,
            self.name,
            parcel.api,
            parcel.correlation_id,
            cause=parcel.row,
        )
        self._loop.cause = row
        if self._is_server:
            self._conversation.request_delivered(parcel, row)

    def _hand_over(self, parcel: Parcel) -> None:
        assert self._receiver is not None
        try:
            if self._take_bytes is not None:
                parcel.taken = len(parcel.data)
                self._take_bytes(parcel.data)
            else:
                self._receiver.received(_fill(self._receiver.receive_buffers(), parcel))
        except Exception as error:
            # As on a real socket: left open, it would raise the same for ever.
            self._close(error)
            raise

    def _take_last_word(self, parcel: Parcel) -> None:
        trace = self._network.trace
        if parcel.kind is ParcelKind.RESET:
            self._loop.cause = trace.emit("reset", self.host.name, self.name, cause=parcel.row)
            self._close(self._reset(), None)
            return
        self._loop.cause = trace.emit("end", self.host.name, self.name, cause=parcel.row)
        if self._on_end is None or not self._on_end():
            self._close(None)

    def _reset(self) -> ConnectionResetError:
        return ConnectionResetError(errno.ECONNRESET, f"Connection reset by {self.peer}")


def _joined(chunks: Sequence[Buffer | FileSlice]) -> bytes:
    """A copy, so that a buffer may change once it is sent; slices by their read-and-send twin."""
    if len(chunks) == 1 and isinstance(chunks[0], bytes):
        return chunks[0]
    return b"".join(_read(each) if isinstance(each, FileSlice) else each for each in chunks)


def _read(piece: FileSlice) -> bytes:
    data = piece.read()
    if len(data) != piece.length:
        raise OSError(errno.EIO, f"{piece.file.path} ended inside a slice being sent")
    return data


def _fill(buffers: Sequence[memoryview], parcel: Parcel) -> int:
    size, first = len(parcel.data), buffers[0]
    if parcel.taken == 0 and len(first) >= size:
        first[:size] = parcel.data
        parcel.taken = size
        return size
    data = memoryview(parcel.data)
    start = at = parcel.taken
    for buffer in buffers:
        count = min(len(buffer), len(data) - at)
        buffer[:count] = data[at : at + count]
        at += count
    assert at > start, "a receiver offered no room"
    parcel.taken = at
    return at - start


def _check(connection: SimConnection) -> Connection:
    """Has mypy hold the simulated connection to the seam."""
    return connection
