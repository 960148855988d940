"""Names that a request has more than once: what is asked for twice is refused in both places."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from broker.api.request import Request

Name = TypeVar("Name")


async def repeated(names: Iterable[Name], request: Request[Any]) -> set[Name]:
    """Pauses for a wide request. Only the repeated names are kept: mostly there are none."""
    seen: set[Name] = set()
    twice: set[Name] = set()
    for name in names:
        await request.pause()
        if name in seen:
            twice.add(name)
        else:
            seen.add(name)
    return twice
