"""Waits until something is so, on the running loop's time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from harness.cluster.errors import NoAnswerError, NotInTimeError


async def wait_until(
    condition: Callable[[], Awaitable[bool]],
    *,
    within_s: float,
    what: str,
    every_s: float = 0.05,
) -> None:
    """Nobody answering means "not yet". `what` completes the sentence "not within 3 s: …"."""
    reason = ""
    try:
        async with asyncio.timeout(within_s):
            while True:
                try:
                    if await condition():
                        return
                    reason = ""
                except NoAnswerError as silence:
                    reason = f" ({silence})"
                await asyncio.sleep(every_s)
    except TimeoutError:
        raise NotInTimeError(f"not within {within_s:g} s: {what}{reason}") from None
