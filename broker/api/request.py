"""One request as a handler sees it."""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from broker.log.breather import Breather
from broker.network.interface import Address
from broker.protocol.errors import KafkaError

Body = TypeVar("Body")
Result = TypeVar("Result")

ELEMENTS_AT_ONCE = 500
"""A request with more elements than these is wide. Decoding, answering and encoding one element
takes up to ten microseconds."""

ELEMENTS_MAX = 100_000
"""A request whose arrays together have more elements is refused, whether a client sends it or a
broker forwards it: no client of a cluster that works sends it."""

_EXPLAINED = 1000
_DETAILS_EXPLAINED = 1000

HERE = Address("here", 0)
"""The peer of a request that came from this very process."""


class Undecoded:
    """Stands for the body of a wide request until its turn comes."""

    __slots__ = ("body_at", "frame")

    def __init__(self, frame: memoryview, body_at: int) -> None:
        """Copies the frame: it lies in a buffer that the next read overwrites."""
        self.frame = bytearray(frame)
        self.body_at = body_at


class Lease(Protocol):
    """The right of a wide request to work, and the memory that it takes meanwhile."""

    def pass_on(self) -> None:
        """The next wide request may work. Once more does no harm."""
        ...

    async def take_turn(self) -> None:
        """Waits until the request may work. Once more does no harm."""
        ...

    def end(self) -> None:
        """The request is answered."""
        ...


@dataclass(slots=True)
class Request(Generic[Body]):
    api_key: int
    version: int
    correlation_id: int
    client_id: str | None
    peer: Address
    body: Body
    listener: str = ""  # the name of the one that the client came by
    breather: Breather | None = None
    """Set for a request whose decoding, answer and encoding take more than a few milliseconds.
    Its handler returns a coroutine, and pauses after every element."""
    lease: Lease | None = None
    explained: int = 0
    details_explained: int = 0

    async def pause(self) -> None:
        """Call it for each element: lets others work when a wide request has used its slice."""
        if self.breather is not None:
            await self.breather.pause()

    def explain(self, error: KafkaError) -> str | None:
        """The message for one element's error; none for the thousandth of a wide request.

        It quotes the name of a topic, which stands in the request only once for many partitions.
        """
        self.explained += 1
        return error.message if self.breather is None or self.explained < _EXPLAINED else None

    def explain_details(self, count: int) -> int:
        """How many of `count` details of an element's error may have a message of their own.

        A thousand in the whole request. A compressed batch of one kilobyte has more rejected
        records than that, and a request that is not wide has up to 500 batches.
        """
        allowed = min(count, _DETAILS_EXPLAINED - self.details_explained)
        self.details_explained += allowed
        return allowed

    def make_wide(self) -> None:
        """The answer is large, though the request is small."""
        if self.breather is None:
            self.breather = Breather()

    def will_wait(self) -> None:
        """From now on the handler waits for others: the next wide request may begin."""
        if self.lease is not None:
            self.lease.pass_on()

    async def goes_on(self) -> None:
        """Ends what `will_wait` began: waits until no other wide request of this API works."""
        if self.lease is not None:
            await self.lease.take_turn()


class CloseConnectionError(Exception):
    """The only answer that the protocol has here is to close the connection."""


def at_once_or_in_slices(
    request: Request[Any], work: Coroutine[Any, Any, Result]
) -> Result | Coroutine[Any, Any, Result]:
    """Carries out `work`, which awaits nothing but `request.pause`, now if that is quick."""
    if request.breather is not None:
        return work
    try:
        work.send(None)
    except StopIteration as done:
        result: Result = done.value
        return result
    raise AssertionError("a handler that only pauses has waited for something else")


async def in_slices(steps: Generator[None, None, Result], breather: Breather) -> Result:
    """Carries out a decoder or an encoder that stops every so often."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: Result = done.value
            return result
        await breather.pause()
