"""A light history has the columns that the real one has."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.columns import Columns
from harness.history.history import History
from tests.property.light_history import LightHistory
from tests.property.log_histories import log_history
from tests.property.txn_histories import txn_history


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), lists=st.booleans(), logs=st.booleans())
def test_columns_are_those_of_a_real_history(seed: int, lists: bool, logs: bool) -> None:
    rows = log_history(Random(seed)) if logs else txn_history(Random(seed), lists=lists)
    real, light = History.of(rows), LightHistory(rows)
    expected, found = Columns(real), light.columns
    for part in ("ops", "elements"):
        for name in getattr(expected, part).__slots__:
            one, other = getattr(getattr(expected, part), name), getattr(getattr(found, part), name)
            if name == "names":
                assert list(one) == list(other)
                continue
            assert one.dtype == other.dtype
            assert np.array_equal(one, other), (part, name)
    assert list(real.keys) == list(light.keys)
    assert list(real.values) == list(light.values)
    assert [real.op(row.index) for row in rows] == [light.op(row.index) for row in rows]
