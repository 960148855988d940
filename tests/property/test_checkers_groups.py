"""Checkers of groups, watermarks, transforms and registers against their definitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.checker import Evidence
from checkers.contract import Contract
from checkers.findings import Finding
from checkers.log.facts import LogFacts
from checkers.registry import all_checkers
from tests.property import lag_oracle, torn_oracle
from tests.property.group_oracle import ORACLES, Found
from tests.property.light_history import LightHistory
from tests.property.log_linearity import difference as linear_difference
from tests.property.register_oracle import FORMS
from tests.property.register_oracle import history as register_history


def _first(finding: Finding) -> tuple[Any, ...]:
    return (finding.ops[0],)


def _last(finding: Finding) -> tuple[Any, ...]:
    return (finding.ops[-1],)


TOLD: dict[str, Callable[[Finding], tuple[Any, ...]]] = {
    "zombie-commit": _last,
    "two-owners": lambda _: ("some",),
    "watermark-regression": lambda one: (one.ops[-1], one.witness["key"]),
    "hanging-transaction": lambda one: (one.ops[0], one.witness["key"]),
    "exactly-once": lambda one: (one.witness["offset"], one.witness["times"]),
    "torn-transaction": lambda one: (one.witness["writer"],),
    "stale-read": lambda one: (one.ops[-1], one.witness["key"]),
}
CASES = (*ORACLES, *FORMS, "torn-transaction", "stale-read")


def difference(name: str, dice: Random) -> tuple[Found, Found]:
    """What the checker finds and what the definition says."""
    contract = Contract(exact_ends=True)  # each question of these histories is a process's only one
    if name in FORMS:
        rows, wrong = register_history(name, dice)
        defined: Found = Counter(wrong)
        reads = {row.index for row in rows if row.f in ("committed", "get")}
    elif name == "torn-transaction":
        rows, defined = torn_oracle.history(dice)
    elif name == "stale-read":
        rows, defined, bound = lag_oracle.history(dice)
        contract = Contract(stale_bound_ms=bound / 1e6)
    else:
        rows, defined = ORACLES[name](dice)
    light = LightHistory(rows)
    evidence = Evidence(light, facts=LogFacts(light.columns))
    findings = all_checkers()[name].look(evidence, contract)
    if name in FORMS:
        return Counter((max(reads.intersection(one.ops)),) for one in findings.found), defined
    found = Counter(map(TOLD[name], findings.found))
    if findings.count > len(findings.found):
        # The first few are told, all are counted.
        assert findings.count == defined.total()
        return found, found & defined
    return (Counter(set(found)) if name == "two-owners" else found), defined


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_checker_finds_what_its_definition_says(name: str, seed: int) -> None:
    found, defined = difference(name, Random(seed))
    assert found == defined


@pytest.mark.parametrize("dense", [False, True])
@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_log_is_linearizable_if_some_order_says_so(dense: bool, seed: int) -> None:
    found, there, _ = linear_difference(Random(seed), dense=dense)
    assert found == there
