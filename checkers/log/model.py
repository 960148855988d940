"""The model `kafka`: every anomaly of logs at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from checkers.checker import Evidence
from checkers.contract import Contract
from checkers.findings import Findings
from checkers.models import Question
from checkers.parts import at_once
from checkers.registry import all_checkers
from checkers.rule import rule_all
from checkers.segments.ground_truth import SEGMENTS
from checkers.stored import StoredHistory
from checkers.verdict import Verdict
from harness.history.history import History

_KAFKA = "kafka"


def _examined(evidence: Evidence, contract: Contract) -> dict[str, Findings]:
    """Kernels hold no lock, so checkers run side by side; what they find does not depend on it."""
    facts = evidence.facts
    work: dict[str, Callable[[], Findings]] = {
        name: partial(checker.look, evidence, contract)
        for name, checker in all_checkers().items()
        if checker.model == _KAFKA
    }
    facts.prepare()
    return dict(zip(work, at_once(tuple(work.values()), size=facts.number.size), strict=True))


def kafka(history: History | StoredHistory, question: Question) -> Verdict:
    evidence = Evidence(history, replicas=question.replicas, gone=question.gone)
    findings = _examined(evidence, question.contract)
    if question.replicas:
        findings[SEGMENTS] = all_checkers()[SEGMENTS].look(evidence, question.contract)
    stats = {
        "ops": len(history),
        "ok-sends": evidence.facts.sends,
        "ok-polled": evidence.facts.polled,
        "counts": {name: found.count for name, found in findings.items() if found.count},
        **findings["stale-read"].stats,
        **({SEGMENTS: findings[SEGMENTS].stats} if question.replicas else {}),
        "vacuous": [name for name, found in findings.items() if not found.looked_at],
    }
    nothing = "" if any(found.looked_at for found in findings.values()) else "nothing was done"
    return rule_all(findings.values(), question.contract, stats=stats, nothing=nothing)
