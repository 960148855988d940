"""A decision of the active controller: a look at the image, and the changes that follow from it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from broker.metadata.changes import Change

Decision = Callable[[], Sequence[Change] | Awaitable[Sequence[Change]]]
"""May pause where it looks at very many things. Decisions are made one after the other, so that
nothing changes the image meanwhile but another controller, and then nothing is appended."""


async def changes_of(decision: Decision) -> Sequence[Change]:
    changes: Any = decision()
    if isinstance(changes, Awaitable):
        changes = await changes
    found: Sequence[Change] = changes
    return found
