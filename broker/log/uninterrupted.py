"""Work on files that must not stop half-way because whoever asked for it no longer waits."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

_Result = TypeVar("_Result")


async def uninterrupted(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Locks stay held to the end of `work`: a thread may still be at it after a cancellation."""
    return await asyncio.shield(asyncio.create_task(work))
