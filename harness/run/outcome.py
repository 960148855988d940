"""What a run came to: the verdict with its reasons, as one value; results.json is its file.

A run that did not test what it was asked to test cannot be called valid. So each reason for a
doubt caps the verdict at unknown; none of them hides an anomaly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from checkers.verdict import Anomaly, Validity, Verdict, worst
from reports import sentences

SCHEMA = 2
BY_INVARIANTS = "invariants"
"""The checker's name where the simulator itself has judged."""
EXIT_CODES = {Validity.VALID: 0, Validity.INVALID: 1, Validity.UNKNOWN: 2}
_WORST_FIRST = (1, 255, 254, 2, 0)


def worst_exit(codes: Sequence[int]) -> int:
    """Of several runs: an anomaly is the worst, then a crash, a run refused, a doubt."""
    return next(code for code in _WORST_FIRST if code in codes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    directory: Path
    command: str
    """What to type to have the run again."""
    verdicts: tuple[Verdict, ...]
    doubts: tuple[str, ...] = ()
    """Why the run proves less than it was meant to, each as a sentence."""
    figures: Mapping[str, Any] = field(default_factory=dict)

    @property
    def validity(self) -> Validity:
        found = worst(self.verdicts)
        if found is Validity.VALID and self.doubts:
            return Validity.UNKNOWN
        return found

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.validity]

    @property
    def anomalies(self) -> tuple[Anomaly, ...]:
        return tuple(each for verdict in self.verdicts for each in verdict.anomalies)

    def sentence(self) -> str:
        """The verdict in one line."""
        return sentences.verdict(self.results())

    def results(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "run": self.directory.name,
            "command": self.command,
            "valid": _said(self.validity),
            "doubts": list(self.doubts),
            "figures": dict(self.figures),
            "checks": [_check(verdict) for verdict in self.verdicts],
        }


def verdict_of(told: Mapping[str, Any]) -> Verdict:
    """One of the checks of a results.json, as it was."""
    validity = {True: Validity.VALID, False: Validity.INVALID}.get(told["valid"], Validity.UNKNOWN)
    kinds: dict[str, list[Anomaly]] = {"allowed": [], "forbidden": [], "unsaid": []}
    for type_, found in told["anomalies"].items():
        is_unsaid = not sentences.is_forbidden(told, type_)
        kind = "allowed" if type_ in told["allowed"] else "unsaid" if is_unsaid else "forbidden"
        kinds[kind] += [
            Anomaly(type=type_, **{**each, "ops": tuple(each["ops"])}) for each in found
        ]
    return Verdict(
        checker=told["checker"],
        model=told.get("model", told["checker"]),
        validity=validity,
        anomalies=tuple(kinds["forbidden"]),
        allowed=tuple(kinds["allowed"]),
        unsaid=tuple(kinds["unsaid"]),
        why=sentences.why(told),
        ruled_out=tuple(told.get("not", ())),
        stats={name: value for name, value in told["stats"].items() if name != "why"},
    )


def _said(validity: Validity) -> bool | str:
    return "unknown" if validity is Validity.UNKNOWN else validity is Validity.VALID


def _check(verdict: Verdict) -> dict[str, Any]:
    """What `harness check --json` says of a history, and which checker of which model says it."""
    anomalies: dict[str, list[dict[str, Any]]] = {}
    for each in (*verdict.anomalies, *verdict.allowed, *verdict.unsaid):
        anomalies.setdefault(each.type, []).append(
            {
                "ops": list(each.ops),
                "because": each.because,
                "severity": each.severity,
                "contract": each.contract,
                "witness": each.witness,
            }
        )
    return {
        "checker": verdict.checker,
        "model": verdict.model,
        "valid": _said(verdict.validity),
        "anomaly-types": sorted(anomalies),
        "allowed": sorted({each.type for each in verdict.allowed}),
        "anomalies": anomalies,
        "not": sorted(verdict.ruled_out),
        "stats": {**verdict.stats, "why": verdict.why} if verdict.why else verdict.stats,
    }
