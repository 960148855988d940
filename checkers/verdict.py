"""Verdict: what is decided about a history, in three values: "could not tell" is not "fine"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from checkers.contract import Promise

_SEVERITIES = {Promise.NEVER: "error", Promise.ALLOWED: "info", Promise.UNSAYABLE: "unknown"}


AT_S = "at-s"
"""Key of a witness: when it was, in seconds of the simulator, where no operation says it."""


class Validity(Enum):
    VALID = "valid"
    INVALID = "invalid"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomaly:
    """A finding, the few operations that prove it, and what the contract says of it."""

    type: str
    """Jepsen's name for it where Jepsen has one: lost-write, G1a."""
    ops: tuple[int, ...]
    """Indices of the operations, in order; the fewest that prove it."""
    because: str
    """One sentence for a person."""
    promise: Promise = Promise.NEVER
    row: str = ""
    """The condition of the contract's row that applies, as the reference names it."""
    contract: str = ""
    """The sentence of that row: the promise that is broken, or why there is none."""
    witness: dict[str, Any] = field(default_factory=dict)
    """The same facts for a program: key, offset, value and whatever the type has."""

    @property
    def severity(self) -> str:
        return _SEVERITIES[self.promise]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    checker: str
    """The checker, or the model whose checkers judged together."""
    model: str = "kafka"
    """What the history was judged by; a checker is a part of it, or all of it."""
    validity: Validity
    found: tuple[Anomaly, ...] = ()
    """Everything that was found, forbidden or not."""
    why: str = ""
    """The reason, where the validity is unknown."""
    ruled_out: tuple[str, ...] = ()
    """The weakest consistency models that the history cannot satisfy."""
    stats: dict[str, Any] = field(default_factory=dict)

    @property
    def anomalies(self) -> tuple[Anomaly, ...]:
        """Those that the contract forbids."""
        return self._with(Promise.NEVER)

    @property
    def allowed(self) -> tuple[Anomaly, ...]:
        return self._with(Promise.ALLOWED)

    @property
    def unsaid(self) -> tuple[Anomaly, ...]:
        """Those that the contract can neither forbid nor allow."""
        return self._with(Promise.UNSAYABLE)

    def count_of(self, type_: str) -> int:
        """How many findings of this type there are; only the first few are kept."""
        types = {each.type for each in self.found}
        counted = int(self.stats.get("count", 0)) if types == {type_} else 0
        return max(counted, sum(each.type == type_ for each in self.found))

    def _with(self, promise: Promise) -> tuple[Anomaly, ...]:
        return tuple(each for each in self.found if each.promise is promise)

    def as_json(self) -> dict[str, Any]:
        """The verdict as `harness check --json` prints it and results.json keeps it."""
        types = sorted({anomaly.type for anomaly in self.found})
        return {
            "valid": json_validity(self.validity),
            "anomaly-types": types,
            "allowed": sorted({anomaly.type for anomaly in self.allowed}),
            "anomalies": {
                type_: [_anomaly_json(each) for each in self.found if each.type == type_]
                for type_ in types
            },
            "not": sorted(self.ruled_out),
            "stats": self.stats if not self.why else {**self.stats, "why": self.why},
        }


def json_validity(validity: Validity) -> bool | str:
    """Jepsen's form: true, false or "unknown"."""
    return "unknown" if validity is Validity.UNKNOWN else validity is Validity.VALID


def _anomaly_json(anomaly: Anomaly) -> dict[str, Any]:
    return {
        "ops": list(anomaly.ops),
        "because": anomaly.because,
        "severity": anomaly.severity,
        "promise": anomaly.promise.value,
        "row": anomaly.row,
        "contract": anomaly.contract,
        "witness": anomaly.witness,
    }


def worst(verdicts: Sequence[Verdict]) -> Validity:
    """An anomaly outranks a doubt, a doubt outranks all that is well. None at all is a doubt."""
    found = {verdict.validity for verdict in verdicts}
    if Validity.INVALID in found:
        return Validity.INVALID
    if Validity.UNKNOWN in found or not found:
        return Validity.UNKNOWN
    return Validity.VALID
