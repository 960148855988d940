"""Questions to coordinators about many keys, a portion at a time.

A request may name a hundred thousand groups or transactional ids. Asked all at once, they would
hold up every other client, and each unanswered question takes memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, TypeVar

from broker.api.request import Request

PORTION = 256
"""As many as a shard takes in one turn of the loop, so a portion costs each shard one append."""

T = TypeVar("T")


def portions(subjects: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(subjects), PORTION):
        yield subjects[start : start + PORTION]


async def answered_in_portions(
    request: Request[Any], subjects: Sequence[T], ask: Callable[[T], asyncio.Future[Any]]
) -> AsyncIterator[tuple[T, Any]]:
    """Every subject with its reply or its KafkaError, in their order.

    An error is not raised. A raised one refers to the frames that it passed, and a hundred
    thousand tracebacks keep memory until the garbage collector stops the broker to find them.

    The next wide request of the API may work while a portion waits for its replies.
    """
    for portion in portions(subjects):
        asked = [ask(each) for each in portion]
        request.will_wait()
        for outcome in asked:
            await outcome
        await request.goes_on()
        for subject, outcome in zip(portion, asked, strict=True):
            await request.pause()
            yield subject, outcome.result()
