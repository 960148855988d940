"""How often each key comes up, and who reads which."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cluster.base import NewTopic
from workloads.keys import KeyDist, dealt_out, keys_of, window

KEYS = tuple(f"t-{index}" for index in range(8))


def shares(dist: str) -> list[float]:
    picked = Counter(KeyDist(dist, KEYS).pick(number / 10_000) for number in range(10_000))
    return [picked[key] / 10_000 for key in KEYS]


def test_uniform() -> None:
    assert shares("uniform") == pytest.approx([1 / 8] * 8, abs=0.001)


def test_zipf() -> None:
    whole = sum(1 / rank for rank in range(1, 9))
    assert shares("zipf") == pytest.approx([1 / rank / whole for rank in range(1, 9)], abs=0.001)


@pytest.mark.parametrize("percent", [1, 90, 100])
def test_hot(percent: int) -> None:
    found = shares(f"hot:{percent}")
    assert found[0] == pytest.approx(percent / 100, abs=0.001)
    assert found[1:] == pytest.approx([(1 - percent / 100) / 7] * 7, abs=0.001)


@pytest.mark.parametrize("dist", ["uniform", "zipf", "hot:90"])
def test_one_key_alone_gets_it_all(dist: str) -> None:
    assert KeyDist(dist, ["t-0"]).pick(0.999) == "t-0"


@pytest.mark.parametrize("dist", ["", "hot", "hot:", "hot:0", "hot:101", "hot:x", "zipf:2", "even"])
def test_another_name_is_refused(dist: str) -> None:
    with pytest.raises(ValueError, match="try uniform, zipf or hot:90"):
        KeyDist(dist, KEYS)


@given(st.sampled_from(["uniform", "zipf", "hot:90"]), st.integers(1, 50))
def test_the_last_number_below_one_picks_a_key(dist: str, count: int) -> None:
    keys = [f"t-{index}" for index in range(count)]
    assert KeyDist(dist, keys).pick(1 - 2**-53) in keys


def test_topics_take_turns() -> None:
    topics = [
        NewTopic(name="a", partitions=1, replication_factor=1),
        NewTopic(name="b", partitions=3, replication_factor=1),
    ]
    assert keys_of(topics) == ("a-0", "b-0", "b-1", "b-2")


@given(st.integers(0, 1000), st.integers(1, 20))
def test_a_window_is_half_of_the_keys_and_moves(turn: int, count: int) -> None:
    keys = [f"t-{index}" for index in range(count)]
    now = window(keys, turn)
    assert len(set(now)) == len(now) == (count + 1) // 2
    assert set().union(*(window(keys, turn + step) for step in range(count))) == set(keys)


@given(st.integers(1, 12), st.integers(1, 12))
def test_every_key_has_a_reader_and_two_where_it_can_be(clients: int, count: int) -> None:
    keys = [f"t-{index}" for index in range(count)]
    dealt = [dealt_out(keys, client, clients) for client in range(clients)]
    assert all(dealt)
    readers = Counter(key for share in dealt for key in share)
    assert set(readers) == set(keys)
    if clients >= 2:
        assert min(readers.values()) >= 2
