"""A queue in which the kernel leaves packets until we say what becomes of them (NFQUEUE).

It belongs to the network namespace of the thread that opens it. The kernel speaks netlink: messages
of a header and attributes, each with its length and padded to four bytes.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from harness.cluster.netns.namespaces import widen

_NETLINK_NETFILTER = 12
_SOL_NETLINK = 270
_NETLINK_NO_ENOBUFS = 5
_RECEIVE_BYTES = 1 << 17
_BUFFER_BYTES = 1 << 24

_PACKET, _VERDICT, _CONFIG = (3 << 8 | kind for kind in (0, 1, 2))
_ERROR = 2
_REQUEST, _ACKNOWLEDGE = 1, 4
_HEADER = struct.Struct("=IHHIIBBH")
_ATTRIBUTE = struct.Struct("=HH")
_TYPE_MASK = 0x3FFF

_CONFIG_COMMAND, _CONFIG_PARAMETERS, _CONFIG_LENGTH, _CONFIG_MASK, _CONFIG_FLAGS = 1, 2, 3, 4, 5
_BIND = 1
_COPY_PACKET = 2
_WHOLE_SEGMENTS = 4
_PACKET_HEADER, _VERDICT_HEADER, _PAYLOAD, _WHOLE_LENGTH = 1, 2, 10, 13
_DROP, _ACCEPT = 0, 1
_HEADERS_BYTES = 64
_PACKET_BYTES_MAX = 0xFFFF
_PACKETS_MAX = 100_000


@dataclass(frozen=True, slots=True)
class Packet:
    number: int
    size: int
    content: bytes
    """Its beginning at least."""


class PacketQueue:
    def __init__(self, number: int, *, whole: bool) -> None:
        """`whole` hands packets out to the last byte, as they are on a wire, to be changed."""
        self._number = number
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_NETFILTER)
        try:
            self._socket.bind((0, 0))
            # Should we ever be too slow, packets are lost as on any link, and nobody is told.
            self._socket.setsockopt(_SOL_NETLINK, _NETLINK_NO_ENOBUFS, 1)
            widen(self._socket, _BUFFER_BYTES)
            self._configure(_attribute(_CONFIG_COMMAND, struct.pack(">BBH", _BIND, 0, 0)))
            self._configure(_parameters(whole))
            self._socket.setblocking(False)
        except OSError:
            self._socket.close()
            raise

    def fileno(self) -> int:
        return self._socket.fileno()

    def packets(self) -> Iterator[Packet]:
        """Those that are waiting now."""
        while True:
            try:
                received = self._socket.recv(_RECEIVE_BYTES)
            except BlockingIOError:
                return
            for kind, body in _messages(received):
                if kind == _PACKET:
                    yield _packet(body)

    def accept(self, packet: Packet, content: bytes | None = None) -> None:
        """Lets it pass, with another content if one is given."""
        payload = b"" if content is None else _attribute(_PAYLOAD, content)
        self._decide(packet, _ACCEPT, payload)

    def drop(self, packet: Packet) -> None:
        self._decide(packet, _DROP, b"")

    def close(self) -> None:
        """What still waits is lost."""
        self._socket.close()

    def _decide(self, packet: Packet, verdict: int, payload: bytes) -> None:
        header = _attribute(_VERDICT_HEADER, struct.pack(">II", verdict, packet.number))
        self._send(_VERDICT, _REQUEST, header + payload)

    def _configure(self, attributes: bytes) -> None:
        self._send(_CONFIG, _REQUEST | _ACKNOWLEDGE, attributes)
        for kind, body in _messages(self._socket.recv(_RECEIVE_BYTES)):
            (error,) = struct.unpack_from("=i", body)
            if kind == _ERROR and error != 0:
                raise OSError(-error, f"cannot queue packets: {os.strerror(-error)}")

    def _send(self, kind: int, flags: int, attributes: bytes) -> None:
        size = _HEADER.size + len(attributes)
        header = _HEADER.pack(size, kind, flags, 0, 0, 0, 0, socket.htons(self._number))
        self._socket.send(header + attributes)


def _parameters(whole: bool) -> bytes:
    # Large segments come as the sender made them, unless their bytes are to be changed: a checksum
    # that is still to be computed would make up for the change.
    flags = 0 if whole else _WHOLE_SEGMENTS
    copied = _PACKET_BYTES_MAX if whole else _HEADERS_BYTES
    return (
        _attribute(_CONFIG_PARAMETERS, struct.pack(">IB", copied, _COPY_PACKET))
        + _attribute(_CONFIG_LENGTH, struct.pack(">I", _PACKETS_MAX))
        + _attribute(_CONFIG_MASK, struct.pack(">I", _WHOLE_SEGMENTS))
        + _attribute(_CONFIG_FLAGS, struct.pack(">I", flags))
    )


def _packet(body: bytes) -> Packet:
    attributes = dict(_attributes(body[4:]))
    (number,) = struct.unpack_from(">I", attributes[_PACKET_HEADER])
    content = attributes.get(_PAYLOAD, b"")
    size = len(content)
    if _WHOLE_LENGTH in attributes:
        (size,) = struct.unpack(">I", attributes[_WHOLE_LENGTH])
    return Packet(number, size, content)


def _messages(received: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and body; the body of a queue's message still has four bytes of a header."""
    at = 0
    while at + 16 <= len(received):
        size, kind = struct.unpack_from("=IH", received, at)
        yield kind, received[at + 16 : at + size]
        at += _padded(size)


def _attributes(body: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + _ATTRIBUTE.size <= len(body):
        size, kind = _ATTRIBUTE.unpack_from(body, at)
        yield kind & _TYPE_MASK, body[at + _ATTRIBUTE.size : at + size]
        at += _padded(size)


def _attribute(kind: int, content: bytes) -> bytes:
    size = _ATTRIBUTE.size + len(content)
    return _ATTRIBUTE.pack(size, kind) + content + bytes(_padded(size) - size)


def _padded(size: int) -> int:
    return size + 3 & ~3
