"""One connection to a broker: requests go out one behind the other, answers find their askers.

No task of its own: what arrives, a time-out or the end of the connection completes futures.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from broker.network.interface import Connection
from broker.protocol import codec, frames
from broker.protocol import messages as m
from broker.protocol.apis import API_VERSIONS, ApiKey
from broker.protocol.errors import ErrorCode, MalformedMessageError
from harness.native.errors import (
    ClientError,
    ConnectionLostError,
    RequestTimedOutError,
    UnsupportedApiError,
    check,
)
from harness.native.request_log import Asked, RequestLog
from harness.native.versions import Versions
from harness.wire.tracker import FrameReader

_BUFFER_BYTES = 64 << 10
_SOFTWARE = "log-trial"
_ANY = 1 << 15
"""Above every version."""


@dataclass(slots=True)
class _Asked:
    key: ApiKey
    version: int
    answer: asyncio.Future[Any]
    timer: asyncio.TimerHandle
    in_flight: int
    sent_s: float


class BrokerConnection:
    """The receiver of its connection's bytes. `on_closed` is called once, whoever closed it."""

    def __init__(
        self,
        connection: Connection,
        *,
        place: str,
        client_id: str,
        versions: Versions,
        log: RequestLog | None = None,
        on_closed: Callable[[BrokerConnection], None],
    ) -> None:
        self.place = place
        self.is_open = True
        self.finalized_features: dict[str, int] = {}
        self._connection = connection
        self._client_id = client_id
        self._versions = versions
        self._log = log
        self._on_closed = on_closed
        self._loop = asyncio.get_running_loop()
        self._served: dict[int, tuple[int, int]] = {}
        self._correlation_id = 0
        self._asked: dict[int, _Asked] = {}
        self._frames = FrameReader()
        self._buffer = memoryview(bytearray(_BUFFER_BYTES))
        connection.start(self)

    @property
    def in_flight(self) -> int:
        return len(self._asked)

    async def introduce(self, timeout_s: float) -> None:
        """Asks which APIs are served. Nothing else may be asked before."""
        version = self._versions.of(ApiKey.API_VERSIONS, *API_VERSIONS[ApiKey.API_VERSIONS])
        body = m.ApiVersionsRequest(client_software_name=_SOFTWARE, client_software_version="1")
        answer = await self.ask(ApiKey.API_VERSIONS, version, body, timeout_s)
        if answer.error_code == ErrorCode.UNSUPPORTED_VERSION:
            answer = await self.ask(ApiKey.API_VERSIONS, 0, m.ApiVersionsRequest(), timeout_s)
        check(answer.error_code, place=f"{self.place}, ApiVersions")
        self._served = {
            each.api_key: (each.min_version, each.max_version) for each in answer.api_keys
        }
        self.finalized_features = {
            each.name: each.max_version_level for each in answer.finalized_features
        }

    def version_of(self, key: ApiKey, *, at_least: int = 0, at_most: int = _ANY) -> int:
        """The pinned version, or one that both sides know and that is within these bounds: the
        newest, or the one drawn for this client."""
        ours_min, ours_max = API_VERSIONS[key]
        theirs_min, theirs_max = self._served.get(key, (0, -1))
        lowest, highest = max(ours_min, theirs_min), min(ours_max, theirs_max)
        wanted_min, wanted_max = max(lowest, at_least), min(highest, at_most)
        version = self._versions.of(key, wanted_min, max(wanted_min, wanted_max))
        if not lowest <= version <= highest:
            raise UnsupportedApiError(
                f"{self.place} serves {key.name} in versions {theirs_min} to {theirs_max}, "
                f"and {version} is wanted"
                if theirs_max >= 0
                else f"{self.place} does not serve {key.name}"
            )
        return version

    def ask(self, key: ApiKey, version: int, body: Any, timeout_s: float) -> asyncio.Future[Any]:
        """Sent before this returns, so the order of calls is the order on the wire.

        An answer that does not come in time ends the connection, as in Kafka's clients: what is
        behind it could not be answered either.
        """
        answer: asyncio.Future[Any] = self._loop.create_future()
        if not self.is_open:
            answer.set_exception(ConnectionLostError(f"{self.place}: the connection is closed"))
            return answer
        correlation_id = self._send(key, version, body)
        # The peer may have been found dead while sending; then nobody will complete this.
        if not self.is_open:
            answer.set_exception(ConnectionLostError(f"{self.place}: the connection broke"))
            return answer
        timer = self._loop.call_later(timeout_s, self._timed_out, correlation_id)
        in_flight = len(self._asked) + 1
        self._asked[correlation_id] = _Asked(
            key, version, answer, timer, in_flight, self._loop.time()
        )
        return answer

    def tell(self, key: ApiKey, version: int, body: Any) -> None:
        """For the one request that is not answered, a produce with acks=0."""
        if not self.is_open:
            raise ConnectionLostError(f"{self.place}: the connection is closed")
        self._send(key, version, body)

    def close(self) -> None:
        self._connection.close()

    def _send(self, key: ApiKey, version: int, body: Any) -> int:
        self._correlation_id += 1
        header = m.RequestHeader(
            api_key=key,
            api_version=version,
            correlation_id=self._correlation_id,
            client_id=self._client_id,
        )
        chunks = frames.request_frame(header, codec.encode_request(key, version, body))
        self._connection.send((b"".join(chunks),))
        return self._correlation_id

    def _timed_out(self, correlation_id: int) -> None:
        asked = self._asked.pop(correlation_id)
        error = RequestTimedOutError(f"{self.place} does not answer {asked.key.name}")
        self._note_unanswered(asked, error)
        _fail(asked.answer, error)
        self.close()

    # What the network calls

    def receive_buffers(self) -> Sequence[memoryview]:
        return (self._buffer,)

    def received(self, count: int) -> None:
        try:
            for frame in self._frames.feed(self._buffer[:count]):
                self._answered(frame)
        except MalformedMessageError:
            self.close()

    def drained(self) -> None:
        pass

    def closed(self, error: Exception | None) -> None:
        self.is_open = False
        asked, self._asked = self._asked, {}
        for each in asked.values():
            each.timer.cancel()
            lost = ConnectionLostError(f"{self.place}: {error or 'closed'}")
            self._note_unanswered(each, lost)
            _fail(each.answer, lost)
        self._on_closed(self)

    def _answered(self, frame: bytes) -> None:
        asked = self._asked.pop(int.from_bytes(frame[:4], "big"), None)
        if asked is None:
            raise MalformedMessageError("an answer to nothing")
        asked.timer.cancel()
        try:
            body = _decoded(asked.key, asked.version, memoryview(frame))
        except MalformedMessageError as error:
            _fail(asked.answer, ConnectionLostError(f"{self.place}: {error}"))
            raise
        if self._log is not None:
            self._log.answered(self._ended(asked), body)
        if not asked.answer.done():
            asked.answer.set_result(body)

    def _note_unanswered(self, asked: _Asked, error: ClientError) -> None:
        if self._log is not None:
            self._log.unanswered(self._ended(asked), str(error))

    def _ended(self, asked: _Asked) -> Asked:
        took_s = self._loop.time() - asked.sent_s
        return Asked(self.place, asked.key, asked.version, asked.in_flight, took_s)


def _decoded(key: ApiKey, version: int, view: memoryview) -> Any:
    _, at = frames.decode_response_header(key, version, view)
    if key == ApiKey.API_VERSIONS:
        code = int.from_bytes(view[at : at + 2], "big", signed=True)
        if code == ErrorCode.UNSUPPORTED_VERSION:
            version = 0
    return codec.decode_response(key, version, view, at)[0]


def _fail(answer: asyncio.Future[Any], error: ClientError) -> None:
    """Whoever asked may be gone, cancelled; then the future is done."""
    if not answer.done():
        answer.set_exception(error)
