"""What could not be read: which file, where in it, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

TEXT_MAX: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    run: str
    """The run that it belongs to, as far as that is known."""
    source: str
    reason: str
    place: str | None = None
    text: str | None = None
    """The beginning of what stands there."""
