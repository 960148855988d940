"""From the outcomes of searches to a finding and a verdict."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from checkers.columns import FAIL, Columns
from checkers.contract import NoLog
from checkers.findings import Finding, Findings
from checkers.linear.calls import Call
from checkers.linear.search import Outcome
from checkers.rule import rule_all
from checkers.verdict import Verdict
from harness.history.json_text import decode, shown


@dataclass(frozen=True, slots=True)
class Evidence:
    """Properties of a model's operations that decide whether a history proves anything."""

    asserted: bool = False
    """Whether any operation that was ok could have been contradicted."""
    has_calls: bool = False
    has_effects: bool = False
    """Whether any operation is not known to have failed."""

    @classmethod
    def of(cls, columns: Columns, *names: str, asserted: bool) -> Evidence:
        """`names`: the operations of the model."""
        done = columns.outcome[columns.has_f(*names) & (columns.outcome > 0)]
        return cls(asserted, done.size > 0, bool((done != FAIL).any()))

    def __or__(self, other: Evidence) -> Evidence:
        """The evidence of two parts of a history together."""
        return Evidence(
            self.asserted or other.asserted,
            self.has_calls or other.has_calls,
            self.has_effects or other.has_effects,
        )

    @property
    def is_sufficient(self) -> bool:
        """Where everything failed for certain there is no effect that a read could have missed;
        Knossos accepts such a history, too."""
        return self.asserted or (self.has_calls and not self.has_effects)


@dataclass(frozen=True, slots=True)
class Searched:
    """What the searches of all objects came to."""

    objects: int
    """Objects that were searched at all."""
    configurations: int
    found: tuple[Finding, ...]
    is_open: bool
    """Whether any object has no answer within the budget."""

    @classmethod
    def of(cls, columns: Columns, outcomes: Mapping[Hashable, Outcome]) -> Searched:
        return cls(
            len(outcomes),
            sum(outcome.visited for outcome in outcomes.values()),
            tuple(
                finding_of(columns, key, outcome)
                for key, outcome in outcomes.items()
                if outcome.linearizable is False
            ),
            any(outcome.linearizable is None for outcome in outcomes.values()),
        )


def verdict_on(ops: int, searched: Searched, evidence: Evidence, budget: int) -> Verdict:
    """`ops`: rows of the history."""
    stats = {
        "ops": ops,
        "objects": searched.objects,
        "configurations": searched.configurations,
    }
    nothing = "no operation of this model that was ok asserts anything"
    if evidence.is_sufficient:
        nothing = ""
    if searched.is_open:
        nothing = f"no answer within {budget:,} configurations"
    findings = Findings(found=searched.found, count=len(searched.found), looked_at=searched.objects)
    return rule_all([findings], NoLog(), stats=stats, nothing=nothing)


def finding_of(columns: Columns, key: Hashable, outcome: Outcome) -> Finding:
    """The finding about an object that was refuted."""
    stuck = outcome.stuck
    assert stuck is not None
    named = decode(key) if isinstance(key, str) else key
    proof: tuple[Call, ...] = outcome.proof or (stuck,)
    sentence = _sentence(columns, key, named, stuck)
    witness = {"key": named, "f": stuck.f, "value": stuck.value}
    return Finding(
        type="nonlinearizable",
        ops=tuple(sorted({columns.index_of(call.row) for call in proof})),
        because=f"{sentence}; {outcome.reason}" if outcome.reason else sentence,
        witness=witness if outcome.minimal else witness | {"minimal": False},
    )


def _sentence(columns: Columns, key: Hashable, named: object, stuck: Call) -> str:
    of = "" if key is None else f" of {named if isinstance(named, str) else shown(named)}"
    return (
        f"no order of the operations{of} explains what process {columns.process_of(stuck.row)} saw "
        f"by the end of op {columns.index_of(stuck.row)}: {stuck.f} {shown(stuck.value)}"
    )
