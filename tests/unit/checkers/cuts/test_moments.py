"""Windows of time, and the cycles in them."""

from __future__ import annotations

import numpy as np

from checkers.cuts.moments import Operations, Windows, cyclic_groups


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


def stretches(windows: Windows) -> list[tuple[int, int]]:
    return list(zip(windows.start.tolist(), windows.end.tolist(), strict=True))


def test_stretches_that_touch_are_one_window() -> None:
    windows = Windows.of(ints(20, 1, 5, 3, 30), ints(25, 9, 6, 4, 31))
    assert stretches(windows) == [(1, 9), (20, 25), (30, 31)]
    assert stretches(Windows.of(ints(1, 3), ints(3, 5))) == [(1, 5)]
    assert stretches(Windows.of(ints(1, 4), ints(3, 5))) == [(1, 3), (4, 5)]


def test_windows_of_parts_are_those_of_the_whole() -> None:
    parts = [
        Windows.of(ints(1, 20), ints(4, 25)),
        Windows.of(ints(3), ints(20)),
        Windows.of(ints(), ints()),
    ]
    assert stretches(Windows.merged(parts)) == [(1, 25)]


def test_a_moment_outside_all_windows_is_its_own() -> None:
    windows = Windows.of(ints(10, 20), ints(12, 22))
    assert windows.place(ints(9, 10, 12, 13, 21, 23)).tolist() == [9, 10, 10, 13, 20, 23]
    assert windows.holds(ints(9, 10, 12, 13)).tolist() == [False, True, True, False]


def test_operations_that_depend_on_nothing_are_in_a_cycle_by_real_time() -> None:
    """9 depends on nothing, but came after 3 and before 12, on which 3 depends."""
    operations = Operations(ints(9, 3, 12, 3), ints(8, 1, 11, 1), ints(9, 3, 12, 3))
    groups = cyclic_groups(operations, ints(12), ints(3))
    assert [group.tolist() for group in groups] == [[3, 9, 12]]
