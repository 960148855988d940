"""The moment of healing is read from the trace, and only who was asked must have answered."""

from __future__ import annotations

import pytest

from harness.native.produce_queue import Delivered, Outcome, Unknown
from harness.sim.healing import first_ack_s, healed_s, slow_partitions
from harness.sim.record import Record, Sent
from harness.sim.simulation import Simulation


def sent(partition: int, sent_s: float, done_s: float | None, outcome: Outcome | None) -> Sent:
    return Sent("w1", partition, f"{partition}.{sent_s}", sent_s, outcome, done_s)


def test_a_partition_that_nobody_asked_is_not_missed() -> None:
    record = Record(
        sends=[sent(0, 1.0, 2.0, Delivered(0)), sent(1, 11.0, 13.0, Delivered(0))],
    )
    assert first_ack_s(record, 10.0) == 2.0
    assert first_ack_s(Record(), 10.0) == 0.0


def test_the_wait_begins_with_the_first_attempt_to_write_and_not_before_healing() -> None:
    record = Record(
        sends=[
            sent(0, 9.0, 10.5, Delivered(0)),
            sent(1, 40.0, 40.2, Delivered(0)),
            sent(2, 12.0, 42.0, Unknown("timed out")),
            sent(2, 40.0, 45.0, Delivered(0)),
        ]
    )
    assert slow_partitions(record, 10.0, 0.0) == pytest.approx({0: 0.5, 1: 0.2, 2: 33.0})
    assert slow_partitions(record, 10.0, 20.0) == pytest.approx({2: 33.0})


@pytest.mark.parametrize("outcome", [None, Unknown("timed out")])
def test_a_partition_that_never_answered_is(outcome: Outcome | None) -> None:
    unanswered = sent(0, 11.0, None if outcome is None else 71.0, outcome)
    record = Record(sends=[unanswered, sent(1, 11.0, 13.0, Delivered(0))])
    assert first_ack_s(record, 10.0) is None


def test_the_slowest_partition_counts_and_what_was_sent_before_does() -> None:
    record = Record(
        sends=[
            sent(0, 9.0, 14.0, Delivered(0)),
            sent(0, 11.0, 15.0, Delivered(1)),
            sent(1, 11.0, 13.0, Delivered(0)),
        ]
    )
    assert first_ack_s(record, 10.0) == 4.0


@pytest.mark.parametrize(
    ("kind", "detail"),
    [
        ("fault", "power_loss after fdatasync 3"),
        ("heal", "f1: cut"),
        ("start", ""),
        ("delay", "2.5 s"),
        ("drop", "message fault"),
    ],
)
def test_every_trouble_is_one(kind: str, detail: str) -> None:
    with Simulation(1) as simulation:
        simulation.loop.now_ns = 5_000_000_000
        simulation.trace.emit(kind, "n1", detail=detail)
        simulation.loop.now_ns = 7_000_000_000
        simulation.trace.emit("drop", "n1", detail="closed")
        assert healed_s(simulation.trace, Record()) == 5.0
        assert healed_s(simulation.trace, Record(asked_again_s=4.0)) == 0.0


def test_a_connection_that_lost_a_message_is_trouble_until_it_is_given_up() -> None:
    with Simulation(1) as simulation:
        emit = simulation.trace.emit
        emit("drop", "n1", "n2>n1:9092#1", detail="message fault")
        for at_s, connection in ((3, "n3>n1:9092#1"), (30, "n2>n1:9092#1"), (31, "n2>n1:9092#1")):
            simulation.loop.now_ns = at_s * 1_000_000_000
            emit("close", "n2", connection)
        assert healed_s(simulation.trace, Record()) == 30.0
