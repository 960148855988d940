"""From findings to a verdict, by the contract."""

from __future__ import annotations

from checkers.contract import Contract, Promise
from checkers.findings import Findings
from checkers.verdict import Anomaly, Validity, Verdict


def judged(checker: str, findings: Findings, contract: Contract) -> Verdict:
    """Nothing looked at is no proof of innocence; what nobody can promise is no guilt."""
    by_promise: dict[Promise, list[Anomaly]] = {promise: [] for promise in Promise}
    why = ""
    for finding in findings.found:
        ruling = contract.ruling(finding.type)
        anomaly = Anomaly(
            type=finding.type,
            ops=finding.ops,
            because=finding.because,
            severity="error" if ruling.promise is Promise.NEVER else "info",
            contract=ruling.sentence,
            witness=finding.witness,
        )
        by_promise[ruling.promise].append(anomaly)
        if ruling.promise is Promise.UNSAYABLE:
            why = ruling.sentence
    if not findings.looked_at and not findings.found:
        why = findings.nothing
    anomalies = by_promise[Promise.NEVER]
    validity = Validity.INVALID if anomalies else Validity.UNKNOWN if why else Validity.VALID
    return Verdict(
        checker=checker,
        validity=validity,
        anomalies=tuple(anomalies),
        allowed=tuple(by_promise[Promise.ALLOWED]),
        unsaid=tuple(by_promise[Promise.UNSAYABLE]),
        why="" if anomalies else why,
        stats={"looked-at": findings.looked_at, "count": findings.count, **findings.stats},
    )
