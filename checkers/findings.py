"""What a checker found, before anybody says whether it was allowed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral
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


class NoFindingsError(TypeError):
    """A checker returned something that says nothing about the history."""


def refuse_nonsense(findings: object) -> None:
    """Raises NoFindingsError for what a checker must not return; plugins are not type-checked.

    A count without a finding would pass for a history without anomalies.
    """
    if not isinstance(findings, Findings):
        raise NoFindingsError(f"it returned {findings!r} instead of Findings")
    for name in ("count", "looked_at"):
        number = getattr(findings, name)
        if not isinstance(number, Integral) or number < 0:
            raise NoFindingsError(f"its findings have {name}={number!r}, which is no count")
    for each in findings.found:
        if not isinstance(each, Finding):
            raise NoFindingsError(f"it found {each!r}, which is no Finding")
    if findings.count < len(findings.found) or (findings.count and not findings.found):
        raise NoFindingsError(f"it counts {findings.count} and shows {len(findings.found)}")


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
