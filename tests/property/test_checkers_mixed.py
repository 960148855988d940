"""The part of a graph in which a cycle can be has one exactly if the whole has."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.columns import Columns
from checkers.log import cycles as under_test
from checkers.log.facts import LogFacts
from harness.history.history import History
from harness.history.op import Op
from tests.property.log_histories import log_history


def interleaved(dice: Random) -> list[Op]:
    """Operations of a small history that take their time, so that several are under way at once."""
    rows = log_history(dice, bend=0.15, most=12)
    begun = {row.process: at for at, row in enumerate(rows) if row.type == "invoke"}
    moment = {at: float(at) for at in range(len(rows))}
    for at, row in enumerate(rows):
        if row.type == "invoke":
            moment[at] -= dice.random() * dice.choice((0, 4, 12))
            begun[row.process] = at
    order = sorted(range(len(rows)), key=lambda at: (moment[at], at))
    # Whatever one process does stays in its order.
    turns = {process: iter([row for row in rows if row.process == process]) for process in begun}
    picked = [next(turns[rows[at].process]) for at in order]
    return [Op(at, at, row.process, row.type, row.f, row.value) for at, row in enumerate(picked)]


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_the_part_has_a_cycle_if_the_whole_has(seed: int) -> None:
    history = History.of(interleaved(Random(seed)))
    whole = under_test.cycles(LogFacts(Columns(history)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(under_test, "_LONG", -1)
        part = under_test.cycles(LogFacts(Columns(history)))
    assert bool(part.found) == bool(whole.found)
    assert {one.type for one in part.found} <= {"G1c", "G1c-process", "G1c-realtime"}
