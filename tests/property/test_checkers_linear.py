"""Linearizability against every order that there could be."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.linear import zones as zone_rules
from checkers.linear.calls import calls
from checkers.linear.keyed import register_steps
from checkers.linear.registers import Codes
from checkers.models import Question, judge
from checkers.verdict import Validity
from tests.property.light_history import LightHistory
from tests.property.linear_histories import APPLY, is_linearizable, linear_history


def difference(model: str, dice: Random, *, unique: bool = False) -> tuple[bool, bool]:
    rows = linear_history(dice, model, unique=unique)
    result = judge(LightHistory(rows), model, Question())
    if result.validity is Validity.UNKNOWN:
        # What asserts nothing has an order, too.
        assert "asserts anything" in result.why
    return result.validity is not Validity.INVALID, is_linearizable(rows, model)


def zone_difference(dice: Random) -> tuple[bool, bool] | None:
    """By zones, which otherwise judge long histories only."""
    rows = linear_history(dice, "cas-register", unique=True)
    codes = Codes()
    initial = codes.of(None)
    columns = LightHistory(rows).columns
    found = calls(columns, "read", "write", "cas")
    steps = register_steps(found, Question(), codes).get(None, [])
    made = [step.b if step.kind == 2 else step.a for step in steps if step.kind]
    if len(set(made)) != len(made):
        return None
    linearizable = zone_rules.zones(steps, initial).linearizable
    assert linearizable is not None
    return linearizable, is_linearizable(rows, "cas-register")


@pytest.mark.parametrize("model", APPLY)
@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_model_finds_an_order_where_there_is_one(model: str, seed: int) -> None:
    found, there = difference(model, Random(seed))
    assert found == there


@pytest.mark.parametrize("model", ["fifo-queue", "stack"])
@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_values_that_are_put_once_need_no_search(model: str, seed: int) -> None:
    found, there = difference(model, Random(seed), unique=True)
    assert found == there


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_zones_agree_with_every_order(seed: int) -> None:
    both = zone_difference(Random(seed))
    assert both is None or both[0] == both[1]
