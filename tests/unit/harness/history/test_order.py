"""By time, invocations first, then as recorded; a process keeps its own order."""

import numpy as np

from harness.history.op import TYPES, OpType
from harness.history.order import order_of


def ordered(*rows: tuple[int, int, OpType]) -> list[int]:
    """Of (time, process, type), as they were recorded."""
    times = np.array([row[0] for row in rows], dtype=np.int64)
    processes = np.array([row[1] for row in rows], dtype=np.int32)
    types = np.array([TYPES.index(row[2]) for row in rows], dtype=np.int8)
    order = order_of(times, processes, types)
    return list(range(len(rows))) if order is None else list(order)


def test_by_time() -> None:
    assert ordered((5, 0, "invoke"), (3, 1, "invoke"), (4, 1, "ok")) == [1, 2, 0]


def test_at_the_same_time_invocations_come_first() -> None:
    assert ordered((1, 0, "invoke"), (5, 0, "ok"), (5, 1, "invoke")) == [0, 2, 1]


def test_at_the_same_time_those_recorded_first_come_first() -> None:
    assert ordered((5, 2, "ok"), (5, 1, "ok"), (5, 4, "invoke"), (5, 3, "invoke")) == [2, 3, 0, 1]


def test_a_process_completes_before_it_invokes_again() -> None:
    rows = ordered((1, 0, "invoke"), (5, 0, "ok"), (5, 0, "invoke"), (5, 1, "invoke"), (9, 0, "ok"))
    assert rows == [0, 3, 1, 2, 4]


def test_many_operations_of_a_process_at_one_time() -> None:
    one: list[tuple[int, int, OpType]] = [(5, 0, "invoke"), (5, 0, "ok")] * 3
    other: list[tuple[int, int, OpType]] = [(5, 1, "ok"), (5, 1, "invoke")] * 2
    rows = ordered(*one, *other)
    assert [row for row in rows if row < 6] == [0, 1, 2, 3, 4, 5]
    assert [row for row in rows if row >= 6] == [6, 7, 8, 9]


def test_no_rows_are_in_order() -> None:
    assert ordered() == []
