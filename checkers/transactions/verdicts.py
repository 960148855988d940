"""Findings about transactions against the consistency models that were promised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from checkers.contract import Promise, Ruling
from checkers.findings import Finding, Findings
from checkers.rule import rule_all
from checkers.transactions.graph import Scope
from checkers.transactions.lattice import forbidden_by, known_models, ruled_out
from checkers.transactions.versions import PROCESS, REALTIME
from checkers.verdict import Verdict

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


class Promised:
    """Rules: what the consistency models that were promised forbid."""

    def __init__(self, models: tuple[str, ...]) -> None:
        models = models or DEFAULT
        strange = sorted(set(models) - known_models())
        if strange:
            raise ValueError(f"unknown consistency model: {', '.join(strange)}")
        self._name = ", ".join(models)
        self.forbidden = forbidden_by(models)

    def ruling(self, anomaly: str) -> Ruling:
        if anomaly == EMPTY:
            sentence = "Without dependencies nothing was put to the test."
            return Ruling(promise=Promise.UNSAYABLE, sentence=sentence, row=self._name)
        is_forbidden = anomaly in self.forbidden
        return Ruling(
            promise=Promise.NEVER if is_forbidden else Promise.ALLOWED,
            sentence=f"{self._name} {'forbids' if is_forbidden else 'allows'} {anomaly}.",
            row=self._name,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What was found in the transactions of a history, before any model is asked."""

    found: Sequence[Finding]
    stats: Mapping[str, Any]
    edges: int
    """Dependencies between transactions, orders of processes and of time among them."""
    is_touched: bool
    """Whether any operation touches a key of the model: without one, orders prove nothing."""
    proven: frozenset[str] | None = None
    """What the findings prove, where that is less than their types say."""

    @property
    def nothing(self) -> str:
        """Elle's rule: without a single dependency nothing was put to the test."""
        if not self.is_touched:
            return "no transaction touches a key"
        return "" if self.edges else "no transaction depends on another"

    def findings(self) -> Findings:
        types = frozenset(finding.type for finding in self.found)
        weakest, stronger = ruled_out(types if self.proven is None else self.proven)
        return Findings(
            found=tuple(self.found),
            count=len(self.found),
            looked_at=0 if self.nothing else self.edges,
            nothing=self.nothing,
            ruled_out=weakest,
            stats={**self.stats, "also-not": list(stronger)},
        )


def ruled_by_models(examined: Examined, models: tuple[str, ...]) -> Verdict:
    findings = examined.findings()
    if findings.nothing:
        empty = Finding(type=EMPTY, ops=(), because=findings.nothing)
        findings = replace(findings, found=(*findings.found, empty))
    return rule_all([findings], Promised(models), stats=findings.stats, nothing=findings.nothing)
