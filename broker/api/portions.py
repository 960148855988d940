"""Questions to coordinators about many groups, a portion at a time.

A request may name a hundred thousand groups. Asked all at once, they would hold up every other
client, and each unanswered question takes memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, TypeVar

from broker.api.request import Request

_AT_ONCE = 256

T = TypeVar("T")


async def asked_in_portions(
    request: Request[Any], subjects: Sequence[T], ask: Callable[[T], asyncio.Future[Any]]
) -> AsyncIterator[tuple[T, asyncio.Future[Any]]]:
    """Every subject with its question, in their order. Await the answer before the next one."""
    for start in range(0, len(subjects), _AT_ONCE):
        portion = subjects[start : start + _AT_ONCE]
        asked = [ask(each) for each in portion]
        for subject, outcome in zip(portion, asked, strict=True):
            await request.pause()
            yield subject, outcome
