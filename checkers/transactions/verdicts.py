"""Findings about transactions against the consistency models that were promised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from checkers.findings import Finding
from checkers.results import Result
from checkers.transactions.graph import Scope
from checkers.transactions.lattice import forbidden_by, known_models, ruled_out
from checkers.transactions.versions import PROCESS, REALTIME
from checkers.verdict import Anomaly, Validity

DEFAULT = ("strict-serializable",)
EMPTY = "empty-transaction-graph"


def scope_of(models: tuple[str, ...]) -> Scope:
    """What the models that were promised make of processes and of time."""
    forbidden = forbidden_by(models or DEFAULT)
    return Scope(
        process=any(type_.endswith("-process") for type_ in forbidden),
        realtime=any(type_.endswith("-realtime") for type_ in forbidden),
    )


PROVEN_BY = {PROCESS: "cyclic-versions-process", REALTIME: "cyclic-versions-realtime"}
"""What a circle of versions proves, by the order that it follows from."""


def ordered_keys(models: tuple[str, ...]) -> list[str]:
    """Orders that each register is promised to keep, the weaker first: where neither an older
    version may be read nor a write be overtaken."""
    forbidden = forbidden_by(models or DEFAULT)
    return [
        order
        for order, suffix in ((PROCESS, "-process"), (REALTIME, "-realtime"))
        if {f"G1c{suffix}", f"G-single-item{suffix}"} <= forbidden
    ]


def judged(
    findings: Sequence[Finding],
    models: tuple[str, ...],
    stats: dict[str, Any],
    *,
    edges: int,
    is_touched: bool,
    proven: set[str] | None = None,
) -> Result:
    """Elle's rule: without a single dependency nothing was put to the test. Orders of processes and
    of time are dependencies, too, but of operations that touch nothing of this model
    (`is_touched`) they put nothing to the test either. `proven`: what the findings prove, where
    that is less than their types say."""
    models = models or DEFAULT
    strange = sorted(set(models) - known_models())
    if strange:
        raise ValueError(f"no such consistency model: {', '.join(strange)}")
    forbidden = forbidden_by(models)
    name = ", ".join(models)
    anomalies = [
        Anomaly(
            type=finding.type,
            ops=finding.ops,
            because=finding.because,
            severity="error" if finding.type in forbidden else "info",
            contract=f"{name} {'forbids' if finding.type in forbidden else 'allows'} "
            f"{finding.type}.",
            witness=finding.witness,
        )
        for finding in findings
    ]
    types = {finding.type for finding in findings}
    invalid = bool(types & forbidden)
    why = ""
    if not edges or not is_touched:
        why = "no transaction depends on another" if is_touched else "no transaction touches a key"
        anomalies.append(Anomaly(type=EMPTY, ops=(), because=why, severity="unknown", contract=""))
    weakest, stronger = ruled_out(frozenset(types if proven is None else proven))
    return Result(
        validity=Validity.INVALID if invalid else Validity.UNKNOWN if why else Validity.VALID,
        anomalies=tuple(anomalies),
        allowed=tuple(sorted(types - forbidden)),
        ruled_out=weakest,
        why="" if invalid else why,
        stats={**stats, "also-not": list(stronger)},
    )
