"""Transactional clients in drawn runs: what they promise is kept, by both protocols."""

from __future__ import annotations

import pytest

from harness.decisions import Decisions
from harness.run.simulated import judge_history
from harness.schedule.schedule import Schedule
from harness.sim.run import draw_schedule, run_schedule
from harness.sim.transaction_operations import protocol_of

SEEDS = {1: 5, 2: 2}
"""A seed for each protocol."""


def drawn(protocol: int, *, length_ms: float = 22_000) -> Schedule:
    seed = SEEDS[protocol]
    assert protocol_of(Decisions(seed)) == protocol
    return draw_schedule(seed, nodes=3, length_ms=length_ms, groups=True, transactions=True)


@pytest.mark.parametrize("protocol", [1, 2])
def test_a_drawn_run_keeps_what_transactions_promise(protocol: int) -> None:
    ended = run_schedule(drawn(protocol), judge=judge_history)
    assert (ended.broken, ended.stopped, ended.problems) == (None, None, [])
    totals = ended.totals
    assert totals.transactions_committed > 20
    assert totals.transactions_aborted > 5
    assert totals.records_transformed > 0
    names = ("W-LSO", "W-SEQ", "W-PID", "W-TXN", "W-MARK", "W-OPEN", "W-CMPEQ")
    assert all(ended.looks[name] > 0 for name in names)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", [1, 2])
def test_the_same_seed_gives_the_same_run(protocol: int) -> None:
    one, other = (run_schedule(drawn(protocol), judge=judge_history) for _ in range(2))
    assert one.digest == other.digest
    assert one.totals == other.totals
