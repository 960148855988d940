"""The model `kafka`: every anomaly of logs at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from checkers.contract import Contract
from checkers.findings import Findings
from checkers.log.examiners import EXAMINERS, examiner
from checkers.log.facts import LogFacts
from checkers.models import Question
from checkers.parts import at_once
from checkers.results import Result, ruled
from checkers.segments.compare import Comparison
from checkers.stored import StoredHistory, columns_of
from harness.history.history import History


def _examined(facts: LogFacts, contract: Contract) -> dict[str, Findings]:
    """Kernels hold no lock, so checkers run side by side; what they find does not depend on it."""
    work: dict[str, Callable[[], Findings]] = {
        name: partial(examiner(name, contract), facts) for name in EXAMINERS
    }
    facts.prepare()
    return dict(zip(work, at_once(tuple(work.values()), size=facts.number.size), strict=True))


def kafka(history: History | StoredHistory, question: Question) -> Result:
    facts = LogFacts(columns_of(history))
    findings = _examined(facts, question.contract)
    if question.replicas:
        copies = question.contract.replication_factor
        findings["segments"] = Comparison(facts, question.replicas, copies).findings()
    stats = {
        "ops": len(history),
        "ok-sends": facts.sends,
        "ok-polled": facts.polled,
        "counts": {name: found.count for name, found in findings.items() if found.count},
        **findings["stale-read"].stats,
        **({"segments": findings["segments"].stats} if question.replicas else {}),
        "vacuous": [name for name, found in findings.items() if not found.looked_at],
    }
    nothing = "" if any(found.looked_at for found in findings.values()) else "nothing was done"
    return ruled(findings.values(), question.contract, stats, nothing)
