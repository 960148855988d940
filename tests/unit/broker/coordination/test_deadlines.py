"""Timers by key: the earliest first, and only the last deadline of each key."""

from __future__ import annotations

from broker.coordination.deadlines import Deadlines


def test_the_earliest_comes_first_and_ties_in_the_order_of_setting() -> None:
    deadlines: Deadlines[str] = Deadlines()
    for key, at_s in (("late", 3.0), ("b", 2.0), ("a", 2.0), ("early", 1.0)):
        deadlines.set(key, at_s)
    assert deadlines.next_s == 1.0
    assert deadlines.take_next(0.9) is None
    assert [deadlines.take_next(2.0) for _ in range(4)] == ["early", "b", "a", None]
    assert deadlines.take_due(3.0) == ["late"]
    assert deadlines.next_s is None
    assert len(deadlines) == 0


def test_a_deadline_that_is_set_again_or_cancelled_does_not_come_up() -> None:
    deadlines: Deadlines[str] = Deadlines()
    deadlines.set("a", 1.0)
    deadlines.set("b", 2.0)
    deadlines.set("a", 3.0)
    deadlines.cancel("b")
    deadlines.cancel("nobody")
    assert (deadlines.next_s, "b" in deadlines, deadlines.at_s("a")) == (3.0, False, 3.0)
    assert deadlines.take_due(2.9) == []
    assert deadlines.take_next(3.0) == "a"


def test_heartbeats_do_not_fill_the_memory() -> None:
    deadlines: Deadlines[int] = Deadlines()
    for beat in range(10_000):
        deadlines.set(beat % 10, float(beat))
    assert len(deadlines._heap) < 100
    assert deadlines.take_due(1e9) == list(range(10))
