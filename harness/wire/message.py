"""One request or reply on its way, with what its connection knows about it.

Headers are read at once, bodies only when somebody asks: most messages are none of our business.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from broker.protocol import codec, frames
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode, MalformedMessageError, UnsupportedVersionError
from broker.protocol.schema_text import schema
from harness.wire.names import NO_NAMES, Names, Topics, names_in_reply, names_in_request

Direction = Literal["request", "reply"]

UNKNOWN_API = -1
"""The key of a message whose header cannot be read, and of a reply to nothing we saw."""

_UNREAD: Any = object()


@dataclass(slots=True, kw_only=True, eq=False)
class Message:
    direction: Direction
    source: str
    target: str
    connection: str
    api_key: int
    """Of a reply: of the request it answers, as are version and client id."""
    api_version: int
    correlation_id: int
    client_id: str | None
    frame: bytes
    """Header and body, without the four bytes of length before them."""
    request: Message | None = None
    """Of a reply: what it answers."""
    is_surplus: bool = False
    """A reply to a copy of a request that we made ourselves: its client must not see it."""
    hit_by: tuple[str, ...] = ()
    """Of a request: names of the message faults that took hold of it."""
    session_topics: Topics | None = None
    """Of a fetch in a session: what it reads, though it may name little of that itself."""
    _body: Any = field(default=_UNREAD, repr=False)
    _names: Names | None = field(default=None, repr=False)

    @property
    def is_request(self) -> bool:
        return self.direction == "request"

    @property
    def api_name(self) -> str:
        return name_of_api(self.api_key)

    @property
    def on_the_wire(self) -> bytes:
        return with_length(self.frame)

    @property
    def body(self) -> Any:
        """The decoded message, or None when the bytes are not what their header says."""
        if self._body is _UNREAD:
            try:
                self._body, _ = self.decode()
            except (MalformedMessageError, UnsupportedVersionError):
                self._body = None
        return self._body

    @property
    def names(self) -> Names:
        """A reply is also known by its request: few replies name their group or transaction."""
        if self._names is None:
            self._names = self._found_names()
        return self._names

    def decode(self) -> tuple[Any, int]:
        """The body, a fresh one that may be changed, and the version in which it was written."""
        view = memoryview(self.frame)
        version = self.api_version
        if self.is_request:
            _, at = frames.decode_request_header(view)
            return codec.decode_request(self.api_key, version, view, at)[0], version
        _, at = frames.decode_response_header(self.api_key, version, view)
        if self.api_key == ApiKey.API_VERSIONS and _says_unsupported(view, at):
            # Answered in version 0, whatever was asked, because everyone understands that.
            version = 0
        return codec.decode_response(self.api_key, version, view, at)[0], version

    def _found_names(self) -> Names:
        if self.is_request:
            if self.body is None:
                return NO_NAMES
            names = names_in_request(self.api_key, self.api_version, self.body)
            if self.session_topics is not None:
                return Names(self.session_topics, names.groups, names.transactional_ids)
            return names
        asked = NO_NAMES if self.request is None else self.request.names
        if self.body is None:
            return asked
        return names_in_reply(self.api_key, self.api_version, self.body, asked)


def _says_unsupported(view: memoryview, at: int) -> bool:
    return int.from_bytes(view[at : at + 2], "big", signed=True) == ErrorCode.UNSUPPORTED_VERSION


def with_length(frame: bytes) -> bytes:
    return len(frame).to_bytes(frames.LENGTH_SIZE, "big") + frame


@cache
def name_of_api(api_key: int) -> str:
    api = schema().apis.get(api_key)
    return f"api {api_key}" if api is None else api.name
