"""Partitioners give what Kafka's clients give."""

from __future__ import annotations

import pytest
from aiokafka.partitioner import DefaultPartitioner
from hypothesis import given
from hypothesis import strategies as st

from harness.client.base import Batching, ClientSettings, Partitioner
from harness.client.librdkafka import partitioner_name, producer_config
from harness.client.partitioners import by_crc32, by_murmur2, by_number, murmur2

SIGNED = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}
"""Hashes that Kafka's own tests expect of its Java client."""


@pytest.mark.parametrize("key", SIGNED)
def test_murmur2_is_that_of_the_java_client(key: bytes) -> None:
    assert murmur2(key) == SIGNED[key] % (1 << 32)


@given(st.binary(max_size=40), st.integers(1, 50))
def test_murmur2_is_that_of_aiokafka(key: bytes, partitions: int) -> None:
    everyone = list(range(partitions))
    assert by_murmur2(key, partitions) == DefaultPartitioner()(key, everyone, everyone)


def test_partitioners_do_not_agree() -> None:
    chosen = {
        (by_crc32(key, 8), by_murmur2(key, 8), by_number(key, 8))
        for key in (b"k%d" % number for number in range(32))
    }
    assert sum(len(set(each)) > 1 for each in chosen) > 16


def test_the_custom_partitioner_goes_by_the_number() -> None:
    assert [by_number(key, 4) for key in (b"k0", b"k5", b"k17", b"k")] == [0, 1, 1, 0]


@pytest.mark.parametrize(
    ("chosen", "name"),
    [("default", "consistent_random"), ("murmur2", "murmur2_random"), ("custom", "custom")],
)
def test_librdkafka_is_told_its_partitioner(chosen: Partitioner, name: str) -> None:
    settings = ClientSettings(bootstrap="n1:9092", batching=Batching(partitioner=chosen))
    assert partitioner_name(settings) == name
    assert producer_config(settings, "c1").get("partitioner", "custom") == name


def test_the_user_s_partitioner_wins_and_is_named() -> None:
    settings = ClientSettings(
        bootstrap="n1:9092",
        batching=Batching(partitioner="custom"),
        producer_config={"partitioner": "fnv1a"},
    )
    assert partitioner_name(settings) == "fnv1a"
