"""Deadlines come in their order, once, and only if they were not moved or cancelled."""

from random import Random

from broker.coordination.deadlines import Deadlines, Key


def take_due(deadlines: Deadlines[Key], now_s: float) -> list[Key]:
    due: list[Key] = []
    while (key := deadlines.take_next(now_s)) is not None:
        due.append(key)
    return due


def test_the_earliest_comes_first_and_ties_by_the_order_of_setting() -> None:
    deadlines: Deadlines[str] = Deadlines()
    for key, at_s in (("c", 2.0), ("a", 1.0), ("b", 2.0)):
        deadlines.set(key, at_s)
    assert deadlines.next_s == 1.0
    assert take_due(deadlines, 0.9) == []
    assert take_due(deadlines, 2.0) == ["a", "c", "b"]
    assert take_due(deadlines, 9.0) == []
    assert len(deadlines) == 0


def test_a_deadline_that_was_moved_comes_at_its_new_time_only() -> None:
    deadlines: Deadlines[str] = Deadlines()
    deadlines.set("a", 1.0)
    deadlines.set("b", 2.0)
    deadlines.set("a", 3.0)
    deadlines.cancel("b")
    deadlines.cancel("unknown")
    assert (deadlines.next_s, deadlines.at_s("a"), "b" in deadlines) == (3.0, 3.0, False)
    assert take_due(deadlines, 2.5) == []
    assert take_due(deadlines, 3.0) == ["a"]


def test_a_deadline_that_was_cancelled_and_set_again_is_the_new_one() -> None:
    deadlines: Deadlines[str] = Deadlines()
    deadlines.set("a", 1.0)
    deadlines.cancel("a")
    deadlines.set("a", 1.0)
    assert take_due(deadlines, 1.0) == ["a"]
    assert take_due(deadlines, 1.0) == []


def test_moving_a_deadline_for_ever_takes_no_memory() -> None:
    deadlines: Deadlines[int] = Deadlines()
    for number in range(10_000):
        deadlines.set(number % 10, float(number))
    assert len(deadlines._heap) < 200


def test_any_history_gives_what_a_plain_table_gives() -> None:
    random = Random(5)
    for _ in range(50):
        deadlines: Deadlines[int] = Deadlines()
        table: dict[int, tuple[float, int]] = {}
        for step in range(200):
            key, at_s = random.randrange(8), float(random.randrange(20))
            match random.randrange(4):
                case 0 | 1:
                    deadlines.set(key, at_s)
                    table[key] = at_s, step
                case 2:
                    deadlines.cancel(key)
                    table.pop(key, None)
                case _:
                    due = sorted((at, order, k) for k, (at, order) in table.items() if at <= at_s)
                    assert take_due(deadlines, at_s) == [k for _, _, k in due]
                    for _, _, k in due:
                        del table[k]
            assert deadlines.next_s == min((at for at, _ in table.values()), default=None)


def test_one_is_taken_at_a_time_because_it_may_cancel_the_next() -> None:
    deadlines: Deadlines[str] = Deadlines()
    for key in ("a", "b", "c"):
        deadlines.set(key, 1.0)
    assert deadlines.take_next(0.9) is None
    assert deadlines.take_next(1.0) == "a"
    deadlines.cancel("b")
    assert [deadlines.take_next(1.0), deadlines.take_next(1.0)] == ["c", None]
