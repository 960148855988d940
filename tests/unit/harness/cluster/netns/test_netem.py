"""The commands by which tc is told of a fault."""

from __future__ import annotations

import pytest

from harness.cluster.capabilities import PacketFault
from harness.cluster.netns.netem import shaping


def test_a_sender_has_a_class_of_its_own_on_the_port_of_the_receiver() -> None:
    text = shaping("data2", 10, "10.77.0.10", PacketFault(delay_ms=50))
    lines = text.splitlines()
    assert lines[0].startswith("class replace dev data2 parent 1: classid 1:a htb ")
    assert lines[1] == (
        "qdisc replace dev data2 parent 1:a handle b: netem limit 100000 delay 50.000ms 0.000ms"
    )
    assert lines[2] == (
        "filter replace dev data2 parent 1: protocol ip prio 10 u32"
        " match ip src 10.77.0.10/32 flowid 1:a"
    )


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (PacketFault(delay_ms=20, jitter_ms=5), "delay 20.000ms 5.000ms"),
        (PacketFault(loss=0.2), "loss 20.0000%"),
        (PacketFault(duplicate=0.015), "duplicate 1.5000%"),
        (PacketFault(corrupt=1.0), "corrupt 100.0000%"),
        (PacketFault(reorder=0.25), "delay 10.000ms 0.000ms reorder 25.0000%"),
        (PacketFault(bytes_per_s=1_500_000), "rate 12000000bit"),
    ],
)
def test_each_fault_in_the_words_of_netem(fault: PacketFault, words: str) -> None:
    assert words in shaping("data1", 1, "10.77.0.1", fault)


def test_a_slow_link_keeps_about_a_second_of_packets() -> None:
    assert "netem limit 1000 " in shaping("d", 1, "a", PacketFault(bytes_per_s=1_500_000))
    assert "netem limit 50 " in shaping("d", 1, "a", PacketFault(bytes_per_s=10))
