"""How much of a run gets onto its page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a run gets onto its page."""

    of_a_kind: int = 8
    in_full: int = 24
    bars: int = 240
    around: int = 200
    calls: int = 2000
