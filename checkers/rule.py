"""From findings to a verdict: the one place where the contract is applied.

Logs, lists, registers, transactions, searches for linear orders and ground truth all end here. They
differ in their `Rules` only: Kafka's contract, a consistency model, or no configuration at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from checkers.contract import Promise, Rules
from checkers.findings import Finding, Findings
from checkers.verdict import Anomaly, Validity, Verdict


def rule(findings: Findings, rules: Rules, *, checker: str, model: str = "kafka") -> Verdict:
    """The verdict on what one checker found.

    Nothing looked at is no proof of innocence, and what the contract cannot say is no guilt: both
    are unknown.
    """
    is_vacuous = not findings.looked_at and not findings.found
    return rule_all(
        [findings],
        rules,
        checker=checker,
        model=model,
        nothing=findings.unsure or (findings.nothing if is_vacuous else ""),
        stats={"looked-at": findings.looked_at, "count": findings.count, **findings.stats},
    )


def rule_all(
    findings: Iterable[Findings],
    rules: Rules,
    *,
    stats: Mapping[str, Any],
    nothing: str = "",
    checker: str = "",
    model: str = "",
) -> Verdict:
    """The verdict on what was found together; `nothing`: why it proves nothing, if so.

    A model's verdict gets its name where the model is looked up (checkers/models.py).
    """
    found: list[Anomaly] = []
    ruled_out: tuple[str, ...] = ()
    why = nothing
    for one in findings:
        ruled_out += one.ruled_out
        found += [_ruled(finding, rules) for finding in one.found]
    for anomaly in found:
        if anomaly.promise is Promise.UNSAYABLE:
            why = why or anomaly.contract
    is_forbidden = any(anomaly.promise is Promise.NEVER for anomaly in found)
    validity = Validity.INVALID if is_forbidden else Validity.UNKNOWN if why else Validity.VALID
    return Verdict(
        checker=checker,
        model=model,
        validity=validity,
        found=tuple(found),
        why="" if is_forbidden else why,
        ruled_out=ruled_out,
        stats=dict(stats),
    )


def broken(checker: str, error: BaseException, *, model: str = "kafka") -> Verdict:
    """A checker that breaks proves nothing."""
    reason = f"the checker crashed: {type(error).__name__}: {error}"
    return Verdict(checker=checker, model=model, validity=Validity.UNKNOWN, why=reason)


def _ruled(finding: Finding, rules: Rules) -> Anomaly:
    ruling = rules.ruling(finding.row or finding.type)
    return Anomaly(
        type=finding.type,
        ops=finding.ops,
        because=finding.because,
        promise=ruling.promise,
        row=ruling.row,
        contract=ruling.sentence,
        witness=finding.witness,
    )
