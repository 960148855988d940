"""The model `kafka`: every anomaly of logs at once."""

from __future__ import annotations

from checkers.columns import Columns
from checkers.findings import Findings
from checkers.log.cycles import cycles
from checkers.log.facts import LogFacts
from checkers.models import Question
from checkers.registry import CHECKERS
from checkers.results import Result, ruled
from harness.history.history import History


def kafka(history: History, question: Question) -> Result:
    facts = LogFacts(Columns(history))
    findings: dict[str, Findings] = {
        name: checker.examine(facts) for name, checker in CHECKERS.items() if name != "G1c"
    }
    findings["cycles"] = cycles(facts, ww_deps=question.contract.ww_deps)
    stats = {
        "ops": len(history),
        "ok-sends": facts.sends,
        "ok-polled": facts.polled,
        "counts": {name: found.count for name, found in findings.items() if found.count},
        "vacuous": [name for name, found in findings.items() if not found.looked_at],
    }
    nothing = "" if any(found.looked_at for found in findings.values()) else "nothing was done"
    return ruled(findings.values(), question.contract, stats, nothing)
