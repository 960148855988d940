"""The real network: non-blocking TCP sockets on the running loop, files sent by sendfile.

Raw readiness callbacks instead of asyncio's transports: a transport copies what it receives and
what it sends, and cannot send a file slice between two buffers.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
from collections import deque
from collections.abc import Callable, Sequence

from broker.disk.interface import Buffer, FileSlice
from broker.network.interface import Address, Connection, Listener, Network, Receiver

_log = logging.getLogger(__name__)

_ACCEPTS_PER_EVENT = 64
_ACCEPT_PAUSE_S = 0.1
_BUFFERS_PER_SENDMSG = 64
_SENDFILE_MAX = 1024 * 1024
"""Sent of files in one turn of the loop, which takes a fifth of a millisecond or so: readers that
catch up must delay nobody. A quarter of it costs 1.6 times the CPU for each byte, in calls."""
_SENDFILE_MIN = 32 * 1024
"""What each of many such readers may send of it, or it would be calls and no data."""
_OUT_OF_DESCRIPTORS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class _Senders:
    """How many connections of a network have something unsent, and so share a turn."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def share(self) -> int:
        return max(_SENDFILE_MAX // max(self.count, 1), _SENDFILE_MIN)


class SocketConnection:
    """One TCP connection. `use_sendfile=False` is the twin that reads and sends."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: socket.socket,
        peer: Address,
        *,
        use_sendfile: bool,
        senders: _Senders,
    ) -> None:
        self.peer = peer
        self._senders = senders
        self.unsent_bytes = 0
        self._loop = loop
        self._sock = sock
        self._descriptor = sock.fileno()
        self._use_sendfile = use_sendfile
        self._receiver: Receiver | None = None
        self._unsent: deque[Buffer | FileSlice] = deque()
        self._reading = False
        self._writing = False
        """What is unsent waits: for room in the socket, or for its next turn on the loop."""
        self._watching = False
        """It waits for room, so the loop watches the socket."""

    def start(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self.resume_reading()

    def pause_reading(self) -> None:
        if self._reading:
            self._reading = False
            self._loop.remove_reader(self._descriptor)

    def resume_reading(self) -> None:
        if not self._reading and self._descriptor >= 0:
            self._reading = True
            self._loop.add_reader(self._descriptor, self._on_readable)

    def _on_readable(self) -> None:
        assert self._receiver is not None
        buffers = self._receiver.receive_buffers()
        try:
            if len(buffers) == 1:
                count = self._sock.recv_into(buffers[0])
            else:
                count = self._sock.recvmsg_into(buffers)[0]
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._close(error)
            return
        if count == 0:
            self._close(None)
            return
        del buffers  # or the receiver could not make its buffer longer
        try:
            self._receiver.received(count)
        except Exception as error:
            # A bug of the receiver's. Left open, the connection would raise it for ever.
            self._close(error)
            raise

    def send(self, chunks: Sequence[Buffer | FileSlice]) -> None:
        if self._descriptor < 0:
            return
        if len(chunks) == 1 and not self._unsent and isinstance(chunks[0], bytes):
            chunks = self._send_at_once(chunks[0])
        self._unsent.extend(chunks)
        self.unsent_bytes += sum(map(len, chunks))
        if self._unsent and not self._writing:
            self._flush()

    def _send_at_once(self, chunk: bytes) -> Sequence[Buffer]:
        """A small reply to a client that keeps up, the usual case; returns what is left of it."""
        try:
            count = self._sock.send(chunk)
        except OSError:
            return (chunk,)  # The flush meets the same error, and knows what to do.
        return () if count == len(chunk) else (memoryview(chunk)[count:],)

    def send_file(self, piece: FileSlice) -> None:
        self.send((piece,))

    def _flush(self) -> None:
        unsent = self._unsent
        room = self._senders.share()
        try:
            while unsent:
                if not isinstance(unsent[0], FileSlice):
                    self._send_buffers()
                elif room > 0:
                    room -= self._send_slice(unsent[0], room)
                else:
                    self._wait()
                    if not self._watching:
                        self._loop.call_soon(self._flush)
                    return
        except (BlockingIOError, InterruptedError):
            self._wait()
            if not self._watching:
                self._watching = True
                self._loop.add_writer(self._descriptor, self._flush)
            return
        except OSError as error:
            self._close(error)
            return
        if self._watching:
            self._watching = False
            self._loop.remove_writer(self._descriptor)
        if self._writing:
            self._wait_no_more()
            if self._receiver is not None:
                self._receiver.drained()

    def _wait(self) -> None:
        if not self._writing:
            self._writing = True
            self._senders.count += 1

    def _wait_no_more(self) -> None:
        if self._writing:
            self._writing = False
            self._senders.count -= 1

    def _send_slice(self, piece: FileSlice, at_most: int) -> int:
        """How many bytes were sent by sendfile."""
        if piece.data is not None or not self._use_sendfile or not hasattr(piece.file, "fileno"):
            data = piece.read()
            if len(data) != piece.length:
                raise _cut_off(piece)
            self._unsent[0] = data
            return 0
        length = min(piece.length, at_most)
        count = os.sendfile(self._descriptor, piece.file.fileno(), piece.position, length)
        if count == 0:
            raise _cut_off(piece)
        self.unsent_bytes -= count
        if count == piece.length:
            self._unsent.popleft()
        else:
            piece.position += count
            piece.length -= count
        return count

    def _send_buffers(self) -> None:
        """As many buffers as stand before the next file slice, in one call."""
        unsent = self._unsent
        buffers: list[Buffer] = []
        more_to_come = 0
        for chunk in unsent:
            if isinstance(chunk, FileSlice) or len(buffers) == _BUFFERS_PER_SENDMSG:
                # Keeps the header of a fetch response out of a packet of its own.
                more_to_come = socket.MSG_MORE
                break
            buffers.append(chunk)
        if len(buffers) == 1:
            count = self._sock.send(buffers[0], more_to_come)
        else:
            count = self._sock.sendmsg(buffers, (), more_to_come)
        self.unsent_bytes -= count
        while count > 0:
            length = len(unsent[0])
            if count >= length:
                unsent.popleft()
                count -= length
            else:
                first = unsent[0]
                assert not isinstance(first, FileSlice)
                unsent[0] = memoryview(first)[count:]
                count = 0
        while unsent and not len(unsent[0]):
            unsent.popleft()

    def close(self) -> None:
        self._close(None)

    def _close(self, error: Exception | None) -> None:
        if self._descriptor < 0:
            return
        self._loop.remove_reader(self._descriptor)
        self._loop.remove_writer(self._descriptor)
        self._descriptor = -1
        self._wait_no_more()
        self._reading = self._watching = False
        self._sock.close()
        self._unsent.clear()
        self.unsent_bytes = 0
        if self._receiver is not None:
            self._receiver.closed(error)


def _cut_off(piece: FileSlice) -> OSError:
    """The promised length is already on the wire, so the stream cannot be repaired."""
    return OSError(errno.EIO, f"{piece.file.path} ended inside a slice being sent")


class SocketListener:
    def __init__(
        self,
        network: SocketNetwork,
        sock: socket.socket,
        on_connection: Callable[[Connection], None],
    ) -> None:
        host, port = sock.getsockname()[:2]
        self.address = Address(host, port)
        self._network = network
        self._sock = sock
        self._on_connection = on_connection
        self._loop = asyncio.get_running_loop()
        self._resume: asyncio.TimerHandle | None = None
        self._accept_later()

    def _accept_later(self) -> None:
        self._resume = None
        self._loop.add_reader(self._sock.fileno(), self._on_acceptable)

    def _on_acceptable(self) -> None:
        for _ in range(_ACCEPTS_PER_EVENT):
            try:
                sock, address = self._sock.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _OUT_OF_DESCRIPTORS:
                    raise
                # The pending connection would wake the loop for ever: look again a little later.
                _log.warning("cannot accept on %s: %s", self.address, error.strerror)
                self._loop.remove_reader(self._sock.fileno())
                self._resume = self._loop.call_later(_ACCEPT_PAUSE_S, self._accept_later)
                return
            self._on_connection(self._network.adopt(sock, Address(*address[:2])))

    async def close(self) -> None:
        if self._resume is not None:
            self._resume.cancel()
        if self._sock.fileno() >= 0:
            self._loop.remove_reader(self._sock.fileno())
            self._sock.close()


class SocketNetwork:
    """Buffer sizes of -1 leave the operating system's, as in Kafka."""

    def __init__(
        self,
        *,
        send_buffer_bytes: int = -1,
        receive_buffer_bytes: int = -1,
        backlog: int = 1024,
        use_sendfile: bool = True,
    ) -> None:
        self._send_buffer_bytes = send_buffer_bytes
        self._receive_buffer_bytes = receive_buffer_bytes
        self._backlog = backlog
        self._use_sendfile = use_sendfile
        self._senders = _Senders()

    async def listen(
        self, address: Address, on_connection: Callable[[Connection], None]
    ) -> Listener:
        try:
            sock = await self._socket_for(address, flags=socket.AI_PASSIVE)
        except socket.gaierror as error:
            raise OSError(
                errno.EADDRNOTAVAIL, f"cannot listen on {address}: {error.strerror}"
            ) from error
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # Accepted sockets inherit the sizes; set later they would not widen the window.
            self._size_buffers(sock)
            sock.bind((address.host, address.port))
            sock.listen(self._backlog)
        except OSError as error:
            sock.close()
            raise OSError(error.errno, f"cannot listen on {address}: {error.strerror}") from error
        return SocketListener(self, sock, on_connection)

    async def connect(self, address: Address) -> Connection:
        sock = await self._socket_for(address)
        try:
            self._size_buffers(sock)
            await asyncio.get_running_loop().sock_connect(sock, (address.host, address.port))
        except BaseException:
            sock.close()
            raise
        return self.adopt(sock, address)

    def adopt(self, sock: socket.socket, peer: Address) -> SocketConnection:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        loop = asyncio.get_running_loop()
        return SocketConnection(
            loop, sock, peer, use_sendfile=self._use_sendfile, senders=self._senders
        )

    def _size_buffers(self, sock: socket.socket) -> None:
        if self._send_buffer_bytes > 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._send_buffer_bytes)
        if self._receive_buffer_bytes > 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._receive_buffer_bytes)

    async def _socket_for(self, address: Address, *, flags: int = 0) -> socket.socket:
        try:
            found = socket.getaddrinfo(
                address.host,
                address.port,
                type=socket.SOCK_STREAM,
                flags=flags | socket.AI_NUMERICHOST,
            )
        except socket.gaierror:
            # A name, not a number: asking for it may take a while, so a thread does.
            found = await asyncio.get_running_loop().getaddrinfo(
                address.host, address.port, type=socket.SOCK_STREAM, flags=flags
            )
        sock = socket.socket(found[0][0], socket.SOCK_STREAM)
        sock.setblocking(False)
        return sock


def _check(network: SocketNetwork) -> Network:
    """Has mypy hold the real network to the seam."""
    return network
