"""Verdict: what a checker says. Three values, because "could not tell" is not "fine"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Validity(Enum):
    VALID = "valid"
    INVALID = "invalid"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomaly:
    """One thing that should not have happened, and the few operations that prove it."""

    type: str
    """Jepsen's name for it where Jepsen has one: lost-write, G1a."""
    ops: tuple[int, ...]
    """Indices of the operations, in order; the fewest that prove it."""
    because: str
    """One sentence for a person."""
    severity: str = "error"
    contract: str = ""
    """The row of the contract that it breaks, or that allows it."""
    witness: dict[str, Any] = field(default_factory=dict)
    """The same facts for a program: key, offset, value and whatever the type has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    checker: str
    model: str = "kafka"
    """What the history was judged by; a checker is a part of it, or all of it."""
    validity: Validity
    anomalies: tuple[Anomaly, ...] = ()
    """Those that the contract forbids."""
    allowed: tuple[Anomaly, ...] = ()
    unsaid: tuple[Anomaly, ...] = ()
    """Those of which nobody can say whether they are forbidden."""
    why: str = ""
    """The reason, where the validity is unknown."""
    ruled_out: tuple[str, ...] = ()
    """The weakest consistency models that the history cannot satisfy."""
    stats: dict[str, Any] = field(default_factory=dict)


def worst(verdicts: Sequence[Verdict]) -> Validity:
    """An anomaly outranks a doubt, a doubt outranks all that is well. None at all is a doubt."""
    found = {verdict.validity for verdict in verdicts}
    if Validity.INVALID in found:
        return Validity.INVALID
    if Validity.UNKNOWN in found or not found:
        return Validity.UNKNOWN
    return Validity.VALID
