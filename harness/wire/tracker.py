"""From the bytes of one connection to its messages: frames are cut out, replies find requests."""

from __future__ import annotations

from struct import Struct
from struct import error as struct_error

from broker.protocol import frames
from broker.protocol.apis import ApiKey
from broker.protocol.errors import MalformedMessageError
from harness.wire.fetch_sessions import FIRST_VERSION, FetchSessions, begins_session
from harness.wire.message import UNKNOWN_API, Message

_LENGTH = Struct(">i")
_CORRELATION_ID = Struct(">i")

FRAME_BYTES_MAX = 256 << 20

UNANSWERED_MAX = 1000
"""Requests whose reply never came, because it was dropped, must not pile up for ever."""


class FrameReader:
    """Cuts one direction of a stream into frames. Gives them without their length."""

    def __init__(self) -> None:
        self._pending = bytearray()

    @property
    def pending_bytes(self) -> int:
        """Of the frame that has not arrived whole."""
        return len(self._pending)

    def feed(self, data: bytes | bytearray | memoryview) -> list[bytes]:
        pending = self._pending
        pending += data
        found: list[bytes] = []
        start = 0
        with memoryview(pending) as view:
            while len(pending) - start >= _LENGTH.size:
                (size,) = _LENGTH.unpack_from(view, start)
                if not 0 <= size <= FRAME_BYTES_MAX:
                    if found:
                        break  # These first: it will be told of when nothing good is before it.
                    raise MalformedMessageError(f"a frame cannot be {size} bytes long")
                end = start + _LENGTH.size + size
                if end > len(pending):
                    break
                found.append(bytes(view[start + _LENGTH.size : end]))
                start = end
        del pending[:start]
        return found

    def rest(self) -> bytes:
        """What is there of a frame, and is not waited for any more."""
        rest = bytes(self._pending)
        self._pending.clear()
        return rest


class ConnectionTracker:
    """Makes messages of the frames of one connection, in the order in which they were sent."""

    def __init__(self, *, connection: str, client: str, server: str) -> None:
        self.connection = connection
        self.client = client
        self.server = server
        self._unanswered: dict[int, Message] = {}
        self._copied: dict[int, list[Message]] = {}
        self._sessions = FetchSessions()

    def request(self, frame: bytes) -> Message:
        try:
            header, _ = frames.decode_request_header(frame)
        except MalformedMessageError:
            return self._unknown_request(frame)
        message = Message(
            direction="request",
            source=self.client,
            target=self.server,
            connection=self.connection,
            api_key=header.api_key,
            api_version=header.api_version,
            correlation_id=header.correlation_id,
            client_id=header.client_id,
            frame=frame,
        )
        if may_have_session(message):
            message.session_topics = self._sessions.asked(
                message.api_key, message.api_version, message.body
            )
        if expects_reply(message):
            self._remember(message)
        return message

    def reply(self, frame: bytes) -> Message:
        try:
            (correlation_id,) = _CORRELATION_ID.unpack_from(frame)
        except struct_error:
            correlation_id = -1
        request = self._unanswered.pop(correlation_id, None)
        is_surplus = request is None and correlation_id in self._copied
        if is_surplus:
            request = self._take_copy(correlation_id)
        message = Message(
            direction="reply",
            source=self.server,
            target=self.client,
            connection=self.connection,
            api_key=UNKNOWN_API if request is None else request.api_key,
            api_version=-1 if request is None else request.api_version,
            correlation_id=correlation_id,
            client_id=None if request is None else request.client_id,
            frame=frame,
            request=request,
            is_surplus=is_surplus,
        )
        self._note_session(message)
        return message

    def copied(self, request: Message) -> None:
        """Say so before a second copy of it is delivered: the reply to that one is surplus."""
        if expects_reply(request):
            self._copied.setdefault(request.correlation_id, []).append(request)

    def _note_session(self, reply: Message) -> None:
        asked = reply.request
        if asked is None or not may_have_session(asked) or not begins_session(asked.body):
            return
        if reply.body is not None:
            self._sessions.answered(
                asked.api_key, asked.api_version, asked.body, reply.body.session_id
            )

    def _take_copy(self, correlation_id: int) -> Message:
        copies = self._copied[correlation_id]
        request = copies.pop(0)
        if not copies:
            del self._copied[correlation_id]
        return request

    def _remember(self, request: Message) -> None:
        self._unanswered[request.correlation_id] = request
        if len(self._unanswered) > UNANSWERED_MAX:
            del self._unanswered[next(iter(self._unanswered))]

    def _unknown_request(self, frame: bytes) -> Message:
        return Message(
            direction="request",
            source=self.client,
            target=self.server,
            connection=self.connection,
            api_key=UNKNOWN_API,
            api_version=-1,
            correlation_id=-1,
            client_id=None,
            frame=frame,
        )


def may_have_session(message: Message) -> bool:
    return (
        message.api_key == ApiKey.FETCH
        and message.api_version >= FIRST_VERSION
        and message.body is not None
    )


def expects_reply(request: Message) -> bool:
    """Only a produce request may ask for silence, with acks=0."""
    if request.api_key != ApiKey.PRODUCE or request.body is None:
        return True
    return bool(request.body.acks != 0)
