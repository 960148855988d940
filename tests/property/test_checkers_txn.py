"""Checkers of transactions against every cycle there is, and against every order there could be."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.models import Question, judge
from checkers.verdict import Validity
from tests.property.light_history import LightHistory
from tests.property.txn_histories import txn_history
from tests.property.txn_oracle import (
    cycle_types,
    cyclic_keys,
    is_strictly_serializable,
    list_edges,
    register_edges,
    transactions,
)

CYCLES = ("G0", "G1c", "G-single-item", "G-nonadjacent-item", "G2-item")


def difference(
    model: str, dice: Random, bend: float | None = None
) -> tuple[set[str], set[str], bool]:
    """Types of cycles as found and as defined, and whether the verdict may stand."""
    lists = model == "list-append"
    rows = txn_history(dice, lists=lists, bend=bend)
    result = judge(LightHistory(rows), model, Question())
    assert not result.why.startswith("the checker broke"), result.why
    found = {one.type for one in result.found if one.type.startswith(CYCLES)}
    txns = transactions(rows)
    defined = cycle_types(txns, (list_edges if lists else register_edges)(txns))
    if not lists:
        circles = [one for one in result.found if one.type == "cyclic-versions"]
        found |= {f"cyclic-versions of {one.witness['key']}" for one in circles}
        defined |= {f"cyclic-versions of {key}" for key in cyclic_keys(txns)}
    guilty = result.validity is Validity.INVALID
    return found, defined, not (guilty and is_strictly_serializable(txns, lists=lists))


@pytest.mark.parametrize("model", ["list-append", "rw-register"])
@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_cycles_are_those_that_there_are(model: str, seed: int) -> None:
    found, defined, just = difference(model, Random(seed))
    assert found == defined
    assert just
