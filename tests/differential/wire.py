"""One raw connection to a broker: any request in any version, each message checked by kio.

The project's own codec encodes and decodes. A mistake in it would be made on both sides of the
comparison and cancel out, so kio, which shares no code with it, must agree about every message.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass
from typing import Any

from kio.serial.errors import OutOfBoundValue

from broker.protocol import codec, frames
from broker.protocol import messages as m
from broker.protocol.apis import api_name, response_header_version
from broker.protocol.schema import Message
from broker.protocol.schema_text import schema
from tests.differential.plain import Plain, plain_of
from tests.property.kio_values import their_bytes, their_class, their_value, to_theirs

CLIENT_ID = "differential"
PATIENCE_S = 15.0
_LENGTH = struct.Struct(">i")
_FRAME_BYTES_MAX = 128 << 20


class ClosedError(Exception):
    """The broker ended the connection instead of answering."""


class SilentError(Exception):
    """The broker did not answer in time."""


class DisagreementError(Exception):
    """Our codec and kio do not agree about the bytes of a message."""


@dataclass(frozen=True)
class Sent:
    """A request that waits for its response."""

    api_key: int
    version: int
    correlation_id: int


class Connection:
    """A blocking socket. Responses come in the order of the requests."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._correlation_id = 0

    def send(self, api_key: int, version: int, message: Any) -> Sent:
        body = b"".join(map(bytes, codec.encode_request(api_key, version, message)))
        check_against_kio(schema().apis[api_key].request, version, message, body)
        return self.send_body(api_key, version, body)

    def send_body(self, api_key: int, version: int, body: bytes) -> Sent:
        """Any bytes behind a correct header, for requests that no encoder would write."""
        self._correlation_id += 1
        header = m.RequestHeader(
            api_key=api_key,
            api_version=version,
            correlation_id=self._correlation_id,
            client_id=CLIENT_ID,
        )
        self.send_bytes(b"".join(frames.request_frame(header, [body])))
        return Sent(api_key, version, self._correlation_id)

    def send_bytes(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except ConnectionError as problem:
            raise ClosedError(str(problem)) from None

    def response(self, sent: Sent, patience_s: float = PATIENCE_S) -> Plain:
        version = sent.version
        frame = self.frame(patience_s)
        correlation_id = _LENGTH.unpack_from(frame)[0]
        if correlation_id != sent.correlation_id:
            raise DisagreementError(f"response {correlation_id} to request {sent.correlation_id}")
        _, start = frames.decode_response_header(sent.api_key, version, memoryview(frame))
        assert start == 4 + response_header_version(sent.api_key, version)
        return decoded_response(sent.api_key, version, frame[start:])

    def frame(self, patience_s: float = PATIENCE_S) -> bytes:
        self._socket.settimeout(patience_s)
        size = _LENGTH.unpack(self._exactly(_LENGTH.size))[0]
        if not 0 <= size <= _FRAME_BYTES_MAX:
            raise DisagreementError(f"a response of {size} bytes")
        return self._exactly(size)

    def is_silent(self, within_s: float) -> bool:
        """Whether no byte arrives in this time. The end of the connection is no silence."""
        before = self._socket.gettimeout()
        self._socket.settimeout(within_s)
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            return True
        except ConnectionError:
            return False
        finally:
            self._socket.settimeout(before)
        return False

    def close(self) -> None:
        self._socket.close()

    def _exactly(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            try:
                piece = self._socket.recv(min(size - len(received), 1 << 20))
            except TimeoutError:
                raise SilentError(f"no response within {self._socket.gettimeout()} s") from None
            except ConnectionError as problem:
                raise ClosedError(str(problem)) from None
            if not piece:
                raise ClosedError("closed by the broker")
            received += piece
        return bytes(received)


def decoded_response(api_key: int, version: int, body: bytes) -> Plain:
    """The body as plain values, once both decoders agree about it."""
    response = schema().apis[api_key].response
    message, end = codec.decode_response(api_key, version, memoryview(body), 0)
    if end != len(body):
        raise DisagreementError(
            f"{len(body) - end} bytes are left after {api_name(api_key)} v{version}"
        )
    try:
        theirs, their_end = their_value(their_class(response, version), body)
    except OutOfBoundValue:
        # kio has dates and none before 1970. A transaction that has not begun starts at -1.
        return plain_of(response.struct, version, message)
    ours = to_theirs(response.struct, version, their_class(response, version), message)
    if (ours, end) != (theirs, their_end):
        raise DisagreementError(f"our codec decodes {ours}, kio {theirs}")
    return plain_of(response.struct, version, message)


def check_against_kio(message: Message, version: int, value: Any, encoded: bytes) -> None:
    """Raises if kio encodes the same message differently.

    kio has dates and durations where the wire has integers, and it refuses those that Python
    cannot hold. Such values are sent as our codec encodes them.
    """
    try:
        theirs = to_theirs(message.struct, version, their_class(message, version), value)
        expected = their_bytes(theirs)
    except (OverflowError, ValueError, TypeError):
        return
    if encoded != expected:
        raise DisagreementError(f"our codec encodes {value} as {encoded!r}, kio as {expected!r}")
