"""Which dependencies real time does not imply, and which findings are told of all parts."""

from __future__ import annotations

import numpy as np

from checkers.cuts.lists import Links, Summary, conclude
from checkers.findings import SHOWN
from checkers.transactions.graph import NEVER


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


def test_what_real_time_implies_is_no_link() -> None:
    """The first operation returned at 3, before the second was called at 4, but after 2."""
    row, call, ret = ints(3, 5, 6, 7), ints(1, 4, 2, 0), ints(3, 5, 6, NEVER)
    links = Links.between(ints(0, 0, 3), ints(1, 2, 1), row, call, ret)
    assert list(zip(links.source.tolist(), links.target.tolist(), strict=True)) == [(3, 6), (7, 5)]
    assert links.target_call.tolist() == [2, 4]
    assert links.source_ret.tolist() == [3, NEVER]


def test_of_all_parts_the_first_findings_are_told() -> None:
    def part(first: int) -> Summary:
        mine = tuple((number, 100 + number) for number in range(first, 80, 2))
        return Summary(reads=1, inner=(40, 0, 1), firsts=(mine, (), (), (), (), ()))

    both = conclude([part(1), part(0)])
    assert both.firsts[0] == tuple((number, 100 + number) for number in range(2 * SHOWN))
    assert (both.reads, both.inner) == (2, (80, 0, 2))
    assert both.told({}) == set(range(100, 100 + 2 * SHOWN))


def test_dirty_values_that_another_list_had_before_are_told_last() -> None:
    dirty = frozenset(((False, value), value) for value in range(3 * SHOWN))
    summary = conclude([Summary(dirty=dirty), Summary()])
    assert summary.told({}) == set(range(SHOWN))
    owners = {(False, value): 1_000 for value in range(SHOWN)}
    assert summary.told(owners) == set(range(SHOWN, 2 * SHOWN))
    assert summary.told({(False, value): 1_000 for value in range(3 * SHOWN)}) == set(range(SHOWN))
