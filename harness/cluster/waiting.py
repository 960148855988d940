"""Waits until a condition holds, on the running loop's time."""

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
    """Wait for the condition; NoAnswerError counts as false. `what` names the condition."""
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
        raise NotInTimeError(
            f"timed out after {within_s:g} s waiting until {what}{reason}"
        ) from None
