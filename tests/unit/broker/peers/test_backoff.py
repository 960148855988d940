"""The pauses between two tries: longer each time, up to a limit, and never in step."""

from __future__ import annotations

from random import Random

import pytest

from broker.peers.backoff import Backoff


def test_each_pause_is_about_twice_the_one_before_up_to_the_longest() -> None:
    backoff = Backoff(0.02, 1.0, Random(1))
    pauses = [backoff.next_s() for _ in range(12)]
    for number, pause in enumerate(pauses):
        expected = min(0.02 * 2**number, 1.0)
        assert 0.8 * expected <= pause <= 1.2 * expected


def test_those_who_lost_the_same_node_do_not_come_back_together() -> None:
    firsts = [Backoff(1.0, 1.0, Random(seed)).next_s() for seed in range(50)]
    assert len(set(firsts)) == 50
    assert max(firsts) - min(firsts) > 0.2


def test_after_a_success_it_begins_anew() -> None:
    backoff = Backoff(0.1, 10.0, Random(1))
    for _ in range(5):
        backoff.next_s()
    backoff.reset()
    assert backoff.next_s() <= 0.12


@pytest.mark.parametrize(("first_s", "longest_s"), [(2.0, 1.0), (1.0, 1.0)])
def test_the_longest_pause_is_no_shorter_than_the_first(first_s: float, longest_s: float) -> None:
    backoff = Backoff(first_s, longest_s, Random(1))
    assert all(0.8 * first_s <= backoff.next_s() <= 1.2 * first_s for _ in range(5))
