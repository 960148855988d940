"""What a checker found, before anybody says whether it was allowed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

SHOWN = 16
"""Of one kind so many are told of; all are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    type: str
    ops: tuple[int, ...]
    because: str
    witness: dict[str, Any] = field(default_factory=dict)
    row: str = ""
    """The anomaly whose rows of the contract apply, where that is not the type itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Of one checker on one history."""

    found: tuple[Finding, ...] = ()
    count: int = 0
    """How many there are, shown or not."""
    looked_at: int = 0
    """How many things could have been found wanting. 0: the checker had nothing to check."""
    nothing: str = ""
    """Why the checker had nothing to check."""
    unsure: str = ""
    """Why the history cannot be cleared, though something was checked and nothing found."""
    ruled_out: tuple[str, ...] = ()
    """The weakest consistency models that the history cannot satisfy."""
    stats: dict[str, Any] = field(default_factory=dict)


def limited(
    type_: str,
    items: list[Any],
    count: int,
    looked_at: int,
    nothing: str,
    told: Callable[[Any], Finding],
) -> Findings:
    """The first items, told; sorted by their operations."""
    found = sorted((told(item) for item in items[:SHOWN]), key=lambda finding: finding.ops)
    assert all(finding.type == type_ for finding in found)
    return Findings(found=tuple(found), count=count, looked_at=looked_at, nothing=nothing)
