"""What is said of a history by a model: every anomaly, what is allowed, what is ruled out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from checkers.contract import Promise, Rules
from checkers.findings import Findings
from checkers.verdict import Anomaly, Validity


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    validity: Validity
    anomalies: tuple[Anomaly, ...] = ()
    """All that were found, allowed or not."""
    allowed: tuple[str, ...] = ()
    """Types that the contract allows."""
    ruled_out: tuple[str, ...] = ()
    """The weakest consistency models that the history cannot satisfy."""
    why: str = ""
    stats: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        types = sorted({anomaly.type for anomaly in self.anomalies})
        valid: bool | str = {Validity.VALID: True, Validity.INVALID: False}.get(
            self.validity, "unknown"
        )
        return {
            "valid": valid,
            "anomaly-types": types,
            "allowed": sorted(self.allowed),
            "anomalies": {
                type_: [
                    {name: part for name, part in asdict(anomaly).items() if name != "type"}
                    for anomaly in self.anomalies
                    if anomaly.type == type_
                ]
                for type_ in types
            },
            "not": sorted(self.ruled_out),
            "stats": self.stats if not self.why else {**self.stats, "why": self.why},
        }


def ruled(
    findings: Iterable[Findings], contract: Rules, stats: dict[str, Any], nothing: str = ""
) -> Result:
    """By the contract. `nothing` says why the history as a whole proves nothing, if so."""
    anomalies: list[Anomaly] = []
    allowed: set[str] = set()
    forbidden = False
    why = nothing
    for one in findings:
        for finding in one.found:
            ruling = contract.ruling(finding.type)
            never = ruling.promise is Promise.NEVER
            forbidden |= never
            if ruling.promise is Promise.ALLOWED:
                allowed.add(finding.type)
            if ruling.promise is Promise.UNSAYABLE:
                why = ruling.sentence
            anomalies.append(
                Anomaly(
                    type=finding.type,
                    ops=finding.ops,
                    because=finding.because,
                    severity="error" if never else "info",
                    contract=ruling.sentence,
                    witness=finding.witness,
                )
            )
    validity = Validity.INVALID if forbidden else Validity.UNKNOWN if why else Validity.VALID
    return Result(
        validity=validity,
        anomalies=tuple(anomalies),
        allowed=tuple(sorted(allowed)),
        why="" if forbidden else why,
        stats=stats,
    )
