"""How these models put what they found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from checkers.columns import Columns
from checkers.contract import NoLog
from checkers.findings import SHOWN, Finding, Findings
from checkers.rule import rule_all
from checkers.verdict import Verdict

Found = tuple[str, Sequence[int], str, dict[str, Any]]
"""Type, rows, sentence, witness."""


def judged(
    columns: Columns,
    found: Sequence[Found],
    stats: dict[str, Any],
    nothing: str,
    tolerated: dict[str, str] | None = None,
) -> Verdict:
    """`tolerated`: types that are no fault here, each with a sentence that says why."""
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
        for _, each in sorted(by_type.items())
    ]
    counts = {type_: len(each) for type_, each in sorted(by_type.items())}
    return rule_all(
        findings,
        NoLog(tolerated),
        nothing=nothing,
        stats={**stats, "counts": counts},
    )
