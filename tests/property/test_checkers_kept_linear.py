"""nonlinearizable-register on random lives of registers: real ones are innocent, bent ones not."""

from __future__ import annotations

from random import Random

import pytest

from checkers.findings import Findings
from checkers.kept.linear import nonlinearizable_registers
from checkers.log.facts import LogFacts
from tests.property.kept_histories import kept_history
from tests.property.light_history import LightHistory


def examined(seed: int, bends: float) -> Findings:
    history = LightHistory(kept_history(Random(seed), bends=bends))
    return nonlinearizable_registers(LogFacts(history.columns))


@pytest.mark.sweep
def test_leaders_that_lag_and_puts_that_come_late_are_no_anomaly() -> None:
    found = [examined(seed, 0.0) for seed in range(400)]
    assert sum(each.looked_at > 0 for each in found) > 300
    assert [each.found for each in found if each.found] == []


@pytest.mark.sweep
def test_of_bent_histories_many_have_no_order() -> None:
    assert sum(bool(examined(seed, 1.0).found) for seed in range(400)) > 150
