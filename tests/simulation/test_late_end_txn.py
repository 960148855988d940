"""T01: an EndTxn that comes late ends the producer's next transaction (KAFKA-17754).

One message is delayed, and nothing else happens. The history alone shows it under the first
protocol of transactions; under the second one the late request is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from broker.protocol.apis import ApiKey
from checkers import check
from checkers.contract import Contract
from harness.history.history import History
from harness.history.op import Op
from harness.run.simulated import CHECKERS
from harness.schedule.schedule import Operation, Schedule
from harness.sim.run import run_schedule, transaction_properties
from harness.wire.match import Delay, Matcher, MessageFault

NODES = 3
LATE_S = 2.6
"""Longer than the client waits before it asks again, and less than its next transaction takes."""


def transact(at_ms: float, value: int, **more: object) -> Operation:
    arguments = {"id": "late", "value": value, "sends": 4, "timeout_ms": 30_000, **more}
    return Operation(at_ms=at_ms, do="transact", arguments=arguments)


def schedule(protocol: int, *, is_late: bool = True) -> Schedule:
    first, second = 1 << 32, 1 << 32 | 100
    late = MessageFault(
        "late", Matcher(api=ApiKey.END_TXN, direction="request", nth=1), Delay(LATE_S), 1
    )
    return Schedule(
        seed=1,
        nodes=NODES,
        length_ms=20_000,
        properties={"offsets.topic.replication.factor": "3", **transaction_properties(NODES)},
        operations={
            "client": (
                transact(5_000, first, protocol=protocol),
                transact(5_001, second, protocol=protocol, pause_ms=3_000.0, abort=True),
            )
        },
        message_faults=(late,) if is_late else (),
    )


def found(protocol: int, *, is_late: bool = True) -> set[str]:
    """Types of everything that the checkers find in the history, forbidden or not."""
    seen: set[str] = set()

    def look(ops: Sequence[Op]) -> list[str]:
        for verdict in check(History.of(ops), Contract(transactions=True), CHECKERS):
            seen.update(anomaly.type for anomaly in verdict.found)
        return []

    ended = run_schedule(schedule(protocol, is_late=is_late), watching=None, judge=look)
    assert (ended.stopped, ended.missed) == (None, ())
    assert ended.totals.transactions_committed == 1
    assert ended.totals.transactions_aborted == 1
    return seen


def test_under_the_first_protocol_the_history_shows_it() -> None:
    assert "G1a" in found(1)


@pytest.mark.parametrize(("protocol", "is_late"), [(1, False), (2, False), (2, True)])
def test_without_the_delay_and_under_the_second_protocol_nothing_is_found(
    protocol: int, is_late: bool
) -> None:
    assert found(protocol, is_late=is_late) == set()
