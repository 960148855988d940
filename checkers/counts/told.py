"""How these models put what they found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from checkers.columns import Columns
from checkers.contract import NoLog
from checkers.findings import SHOWN, Finding, Findings
from checkers.results import Result, ruled
from checkers.verdict import Anomaly

Found = tuple[str, Sequence[int], str, dict[str, Any]]
"""Type, rows, sentence, witness."""


def judged(
    columns: Columns,
    found: Sequence[Found],
    stats: dict[str, Any],
    nothing: str,
    tolerated: dict[str, str] | None = None,
) -> Result:
    """`tolerated`: types that are no fault here, each with a sentence that says why."""
    tolerated = tolerated or {}
    by_type: dict[str, list[Finding]] = {}
    for type_, rows, because, witness in found:
        ops = tuple(sorted({columns.index_of(row) for row in rows}))
        finding = Finding(type=type_, ops=ops, because=because, witness=witness)
        by_type.setdefault(type_, []).append(finding)
    findings = [
        Findings(
            found=tuple(sorted(each, key=lambda finding: finding.ops)[:SHOWN]),
            count=len(each),
            looked_at=1,
        )
        for type_, each in sorted(by_type.items())
        if type_ not in tolerated
    ]
    counts = {type_: len(each) for type_, each in sorted(by_type.items())}
    result = ruled(findings, NoLog(), {**stats, "counts": counts}, nothing)
    spared = [
        Anomaly(
            type=finding.type,
            ops=finding.ops,
            because=finding.because,
            severity="info",
            contract=tolerated[type_],
            witness=finding.witness,
        )
        for type_, each in sorted(by_type.items())
        if type_ in tolerated
        for finding in sorted(each, key=lambda finding: finding.ops)[:SHOWN]
    ]
    return replace(
        result,
        anomalies=(*result.anomalies, *spared),
        allowed=tuple(sorted({*result.allowed, *(one.type for one in spared)})),
    )
