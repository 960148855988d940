"""A connection to one other node, opened when it is needed and again when it is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any

from broker.network.interface import Address, Connection, Network
from broker.peers.backoff import Backoff
from broker.peers.incoming_frames import IncomingFrames
from broker.protocol import codec, frames
from broker.protocol import messages as m
from broker.protocol.apis import API_VERSIONS, ApiKey
from broker.protocol.errors import MalformedMessageError

_FRAME_BYTES_MAX = 256 << 20


class UnansweredError(Exception):
    """No answer came. Whether the request was carried out is not known.

    `was_refused`: nobody listens there, so that the process is gone.
    """

    def __init__(self, problem: str, *, was_refused: bool = False) -> None:
        super().__init__(problem)
        self.was_refused = was_refused


class Channel:
    """All nodes of a cluster are of one version, so each API is asked for in its newest."""

    def __init__(
        self,
        network: Network,
        address: Address,
        *,
        client_id: str,
        random: Random,
        backoff_s: float,
        backoff_max_s: float,
        reuses_memory: bool = False,
    ) -> None:
        """`reuses_memory`: an answer is good until the next question is asked."""
        self.address = address
        self._reuses_memory = reuses_memory
        self._network = network
        self._client_id = client_id
        self._backoff = Backoff(backoff_s, backoff_max_s, random)
        self._retry_at = 0.0
        self._session: _Session | None = None
        self._retired: dict[_Session, None] = {}  # nothing new is asked there
        self._connecting = asyncio.Lock()
        self._patience: dict[asyncio.Timeout, None] = {}  # of those who wait for a connection
        self._correlation_id = 0

    async def ask(self, api_key: ApiKey, body: Any, *, timeout_s: float) -> Any:
        """Raises UnansweredError, also for an answer that cannot be read."""
        deadline = asyncio.get_running_loop().time() + timeout_s
        session, was_refused = self._session, False
        try:
            if session is None or not session.is_usable:
                session = None
                session = await self._connected_by(deadline)
            return await self._exchange(session, api_key, body, deadline)
        except TimeoutError:
            if session is not None:
                self._retire(session)
                session = None
            problem = f"{self.address} did not answer {api_key.name} within {timeout_s} s"
        except (OSError, MalformedMessageError) as error:
            problem = f"{self.address} did not answer {api_key.name}: {error}"
            was_refused = isinstance(error, ConnectionRefusedError)
        if session is not None:
            session.close()
        raise UnansweredError(problem, was_refused=was_refused)

    def _retire(self, session: _Session) -> None:
        """A node that does not answer may be gone for good, and the connection would not tell. Or
        one answer only took long: then those who wait behind it still get theirs."""
        self._retired = {each: None for each in self._retired if not each.is_closed}
        self._retired[session] = None
        session.retire()

    def interrupt(self) -> None:
        """Whoever asks at this moment gets no answer, and may ask something else at once."""
        now = asyncio.get_running_loop().time()
        for patience in self._patience:
            if not patience.expired():
                patience.reschedule(now)
        self.close()

    async def _exchange(
        self, session: _Session, api_key: ApiKey, body: Any, deadline: float
    ) -> Any:
        version = API_VERSIONS[api_key][1]
        self._correlation_id += 1
        header = m.RequestHeader(
            api_key=api_key,
            api_version=version,
            correlation_id=self._correlation_id,
            client_id=self._client_id,
        )
        chunks = frames.request_frame(header, codec.encode_request(api_key, version, body))
        frame = await session.send(self._correlation_id, chunks, deadline)
        _, at = frames.decode_response_header(api_key, version, frame)
        answer, _ = codec.decode_response(api_key, version, frame, at)
        self._backoff.reset()
        return answer

    async def _connected_by(self, deadline: float) -> _Session:
        async with asyncio.timeout_at(deadline) as patience:
            self._patience[patience] = None
            try:
                return await self._connected()
            finally:
                del self._patience[patience]

    async def _connected(self) -> _Session:
        async with self._connecting:
            if self._session is not None and self._session.is_usable:
                return self._session
            now = asyncio.get_running_loop().time()
            if now < self._retry_at:
                await asyncio.sleep(self._retry_at - now)
            # Set before the attempt, which may be given up: whoever comes next waits all the same.
            self._retry_at = asyncio.get_running_loop().time() + self._backoff.next_s()
            connection = await self._network.connect(self.address)
            self._session = _Session(connection, self._reuses_memory)
            return self._session

    def close(self) -> None:
        for session in self._retired:
            session.close()
        if self._session is not None:
            self._session.close()


class _Session:
    """One connection's life: who waits for which answer."""

    def __init__(self, connection: Connection, reuses_memory: bool) -> None:
        self._connection = connection
        self._frames = IncomingFrames(
            self._on_frame, frame_bytes_max=_FRAME_BYTES_MAX, reuses_memory=reuses_memory
        )
        self._waiting: dict[int, asyncio.Future[memoryview]] = {}
        self.is_closed = False
        self.is_usable = True
        connection.start(self)

    async def send(self, correlation_id: int, chunks: Sequence[Any], deadline: float) -> memoryview:
        if self.is_closed:
            raise ConnectionError("the connection is closed")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[memoryview] = loop.create_future()
        # In place of asyncio.timeout, which costs more than the request that it watches over.
        timer = loop.call_at(deadline, _give_up, answer)
        self._waiting[correlation_id] = answer
        try:
            self._connection.send(chunks)
            return await answer
        finally:
            timer.cancel()
            self._waiting.pop(correlation_id, None)
            if not self.is_usable:
                self.retire()

    def retire(self) -> None:
        """Closed when nobody waits for an answer any more."""
        self.is_usable = False
        if not self._waiting:
            self.close()

    def close(self) -> None:
        self._connection.close()

    def _on_frame(self, frame: memoryview) -> None:
        waiting = self._waiting.get(int.from_bytes(frame[:4], "big", signed=True))
        if waiting is not None and not waiting.done():
            waiting.set_result(frame)

    def receive_buffers(self) -> Sequence[memoryview]:
        return self._frames.receive_buffers()

    def received(self, count: int) -> None:
        try:
            self._frames.received(count)
        except ConnectionError:
            self._connection.close()

    def drained(self) -> None:
        pass

    def closed(self, error: Exception | None) -> None:
        self.is_closed, self.is_usable = True, False
        lost = error or ConnectionError("the connection was closed")
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(lost)


def _give_up(answer: asyncio.Future[memoryview]) -> None:
    if not answer.done():
        answer.set_exception(TimeoutError())
