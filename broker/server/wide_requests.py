"""Requests with very many elements: decoded, answered and encoded in slices, one at a time.

A frame of 200 kB can name 100,000 topics. Each takes some hundred bytes and some microseconds once
it is an object, and as much again in the answer. Such a request is served, but in slices, so that
heartbeats and other clients' requests pass between them; and each API serves one of them at a
time, so that the memory they take does not grow with the number of clients that send them. A
request that waits for replicas, or for a controller on another node, lets the next one begin.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from broker.api.later import Later
from broker.api.request import ELEMENTS_MAX, CloseConnectionError, Request, Undecoded, in_slices
from broker.log.breather import Breather
from broker.protocol import codec
from broker.protocol.apis import api_name
from broker.protocol.errors import TooManyElementsError
from broker.server.request_memory import RequestMemory

if TYPE_CHECKING:
    from broker.api.forwarding import Handler
    from broker.node import Node

_BYTES_PER_ELEMENT = 400
"""In the request and its answer, as objects. Measured with tests/fuzz/huge_counts.py."""


def too_wide(api_key: int, version: int, error: TooManyElementsError) -> CloseConnectionError:
    return CloseConnectionError(
        f"a request of {api_name(api_key)} v{version} has {error.count} {error.what}; "
        f"all arrays of a request together may have {ELEMENTS_MAX} elements"
    )


class WideRequests:
    """One for each server."""

    def __init__(self, node: Node, memory: RequestMemory) -> None:
        self._node = node
        self._memory = memory
        self._gates: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)

    def gate(self, api_key: int) -> asyncio.Lock:
        """Held by the one wide request of this API that works."""
        return self._gates[api_key]

    async def answer(self, handler: Handler, request: Request[Undecoded]) -> Any:
        """What the handler answers. The caller ends the request's lease when it is encoded."""
        request.lease = lease = WorkLease(self.gate(request.api_key), self._memory)
        lease.hold(len(request.body.frame))
        await lease.take_turn()
        lease.hold(await _decode(request) * _BYTES_PER_ELEMENT)
        result = handler(self._node, request)
        return await result if type(result) in (CoroutineType, Later) else result


async def _decode(request: Request[Any]) -> int:
    """Returns how many elements there are. The frame is gone when it returns, to save memory."""
    undecoded: Undecoded = request.body
    request.breather = breather = Breather()
    decode = codec.sliced_request_decoder(request.api_key, request.version)
    steps = decode(memoryview(undecoded.frame), undecoded.body_at, ELEMENTS_MAX)
    try:
        request.body, count = await in_slices(steps, breather)
    except TooManyElementsError as error:
        raise too_wide(request.api_key, request.version, error) from error
    return count


class WorkLease:
    """One wide request's turn at its API's gate, and what it counts for in the memory."""

    __slots__ = ("_gate", "_held_bytes", "_is_taken", "_memory")

    def __init__(self, gate: asyncio.Lock, memory: RequestMemory) -> None:
        self._gate = gate
        self._memory = memory
        self._held_bytes = 0
        self._is_taken = False

    def hold(self, size: int) -> None:
        self._held_bytes += size
        self._memory.hold(size)

    async def take_turn(self) -> None:
        if not self._is_taken:
            await self._gate.acquire()
            self._is_taken = True

    def pass_on(self) -> None:
        if self._is_taken:
            self._is_taken = False
            self._gate.release()

    def end(self) -> None:
        self.pass_on()
        held, self._held_bytes = self._held_bytes, 0
        self._memory.let_go(held)
