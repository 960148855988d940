"""A transaction coordinator or partition that is broken on purpose is found out.

With the invariants, by the first rule that is broken; without them, by what clients saw.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker import transaction_ends
from broker.log.log import Log
from broker.transaction_markers import Outgoing
from broker.transactions import machine
from broker.transactions.transaction import CLASSIC, NO_PRODUCER_ID, Transaction
from harness.run.simulated import judge_history
from harness.schedule.schedule import Operation, Schedule
from harness.sim.invariants.base import Cost
from harness.sim.run import run_schedule, transaction_properties
from harness.sim.verdict import verdict

pytestmark = [pytest.mark.sweep, pytest.mark.slow]

NODES = 3
Break = Callable[[pytest.MonkeyPatch], None]


def transact(number: int, **more: object) -> Operation:
    arguments = {"id": "one", "value": 1 << 32 | number * 100, "sends": 3, "timeout_ms": 2_000}
    return Operation(at_ms=5_000.0 + number * 800, do="transact", arguments={**arguments, **more})


def schedule() -> Schedule:
    """One client: most commit, some abort, one is slower than its time-out."""
    operations = tuple(
        transact(
            number,
            protocol=1,
            abort=number % 4 == 1,
            pause_ms=4_500.0 if number == 6 else 50.0,
        )
        for number in range(12)
    )
    reads = tuple(Operation(at_ms=5_000.0 + at * 150, do="read", arguments={}) for at in range(80))
    return Schedule(
        seed=1,
        nodes=NODES,
        length_ms=25_000,
        properties={"min.insync.replicas": "2", **transaction_properties(NODES)},
        operations={"client": operations, "reader": reads},
    )


def one_partition_gets_no_marker(patch: pytest.MonkeyPatch) -> None:
    """T05."""

    def outgoing(*arguments: Any) -> Outgoing:
        made = Outgoing(*arguments)
        made.waiting.pop(("x", 1), None)
        return made

    patch.setattr(transaction_ends, "Outgoing", outgoing)


def a_timeout_keeps_the_epoch(patch: pytest.MonkeyPatch) -> None:
    """T03."""

    def fenced(before: Transaction, now_ms: int) -> Transaction:
        return before.prepared(
            commit=False, version=CLASSIC, next_producer_id=NO_PRODUCER_ID, now_ms=now_ms
        )

    patch.setattr(machine, "fenced", fenced)


def readers_see_open_transactions(patch: pytest.MonkeyPatch) -> None:
    """T08."""
    patch.setattr(Log, "last_stable_offset", property(lambda self: self.high_watermark))


def aborted_transactions_are_not_named(patch: pytest.MonkeyPatch) -> None:
    """T07."""
    patch.setattr(Log, "aborted_transactions", lambda self, first, up_to: [])


@pytest.mark.parametrize(
    ("breaks", "watching", "findings"),
    [
        (one_partition_gets_no_marker, Cost.EXPENSIVE, {"W-MARK"}),
        (one_partition_gets_no_marker, None, {"hanging-transaction"}),
        (a_timeout_keeps_the_epoch, None, {"torn-transaction", "lost-write"}),
        (readers_see_open_transactions, Cost.EXPENSIVE, {"W-LSO"}),
        (readers_see_open_transactions, None, {"G1a"}),
        (aborted_transactions_are_not_named, None, {"G1a"}),
    ],
)
def test_a_broken_broker_is_found(
    breaks: Break,
    watching: Cost | None,
    findings: set[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    breaks(monkeypatch)
    ended = run_schedule(schedule(), watching=watching, judge=judge_history)
    found = {sentence.partition(":")[0] for sentence in verdict(ended).sentences}
    assert found & findings, verdict(ended).sentences


def test_a_broker_that_is_not_broken_has_nothing_to_be_found() -> None:
    ended = run_schedule(schedule(), judge=judge_history)
    assert (ended.broken, ended.stopped, ended.problems) == (None, None, [])
    assert ended.totals.transactions_timed_out == 1
