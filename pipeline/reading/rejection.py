"""A file, line or row that could not be read, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

TEXT_MAX: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    run: str
    """The run that it belongs to, or the name of the file if the run is unknown."""
    source: str
    reason: str
    place: str | None = None
    text: str | None = None
    """The beginning of the rejected text."""
