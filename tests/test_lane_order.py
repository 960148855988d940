"""The order of a lane: what shares a broker stays together, and long tests start first."""

import pytest

from tests.lane_order import in_shares, share_sizes

REST = [f"r{number}" for number in range(20)]


def shares(ordered: list[str], workers: int) -> list[list[str]]:
    found = []
    for size in share_sizes(len(ordered), workers):
        found.append(ordered[:size])
        ordered = ordered[size:]
    return found


def test_shares_are_those_of_the_scheduler() -> None:
    assert share_sizes(10, 4) == [2, 2, 3, 3]
    assert share_sizes(3, 4) == [0, 1, 1, 1]


def test_each_share_begins_with_what_has_to_start_first() -> None:
    ordered = in_shares(["c1", "c2"], ["l1", "l2", "l3", "l4"], REST, 4)
    first, *others = shares(ordered, 4)
    assert first[:2] == ["c1", "c2"]
    assert [each[:2] for each in others] == [["l1", "l4"], ["l2", "r8"], ["l3", "r14"]]


@pytest.mark.parametrize("workers", [1, 2, 4, 40])
@pytest.mark.parametrize("clients", [0, 2, 18])
def test_every_test_runs_once_and_the_rest_keeps_its_order(workers: int, clients: int) -> None:
    together, early = [f"c{number}" for number in range(clients)], ["l1", "l2", "l3"]
    ordered = in_shares(together, early, REST, workers)
    assert sorted(ordered) == sorted([*together, *early, *REST])
    assert [each for each in ordered if each in REST] == REST
    assert [each for each in ordered if each in together] == together
