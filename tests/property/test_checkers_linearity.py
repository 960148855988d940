"""Logs are linearizable exactly if there is an order that makes them so."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property.log_linearity import difference


@pytest.mark.parametrize("dense", [False, True])
@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_log_is_linearizable_if_some_order_says_so(dense: bool, seed: int) -> None:
    found, there, _ = difference(Random(seed), dense=dense)
    assert found == there
