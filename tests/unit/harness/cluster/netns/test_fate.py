"""What becomes of the packets of a link, decided by given draws."""

from __future__ import annotations

from itertools import cycle

import pytest

from harness.cluster.capabilities import PacketFault
from harness.cluster.netns.fate import QUEUE_S_MAX, LinkFate, Passing, with_a_bit_flipped
from harness.decisions import Decisions

NOW_S = 100.0


def fate(fault: PacketFault, *draws: float) -> LinkFate:
    given = cycle(draws or (0.5,))
    return LinkFate(fault, lambda: next(given))


def test_a_link_without_a_fault_lets_everything_pass_at_once() -> None:
    assert fate(PacketFault()).of(1000, NOW_S) == Passing(NOW_S)


def test_a_delayed_packet_passes_later() -> None:
    passing = fate(PacketFault(delay_ms=50)).of(1000, NOW_S)
    assert passing is not None
    assert passing.at_s == pytest.approx(NOW_S + 0.05)


@pytest.mark.parametrize(("draw", "at_ms"), [(0.0, 40), (0.5, 50), (0.75, 55)])
def test_jitter_lies_on_both_sides_of_the_delay(draw: float, at_ms: float) -> None:
    passing = fate(PacketFault(delay_ms=50, jitter_ms=10), draw).of(1000, NOW_S)
    assert passing is not None
    assert passing.at_s == pytest.approx(NOW_S + at_ms / 1e3)


def test_nothing_passes_before_it_arrived() -> None:
    passing = fate(PacketFault(jitter_ms=10), 0.0).of(1000, NOW_S)
    assert passing == Passing(NOW_S)


@pytest.mark.parametrize("name", ["loss", "corrupt", "reorder"])
def test_a_share_of_the_packets_is_hit(name: str) -> None:
    draw = Decisions(7).of("packet", name).next
    one = LinkFate(PacketFault(**{name: 0.2}), draw)
    fates = [one.of(1000, NOW_S) for _ in range(5000)]
    hit = sum(each != Passing(NOW_S) for each in fates)
    assert 800 < hit < 1200


def test_a_slow_link_passes_packets_one_after_the_other() -> None:
    one = fate(PacketFault(bytes_per_s=10_000))
    passed = [one.of(1000, NOW_S) for _ in range(3)]
    assert [each and each.at_s for each in passed] == pytest.approx(
        [NOW_S + 0.1, NOW_S + 0.2, NOW_S + 0.3]
    )
    later = one.of(1000, NOW_S + 5)
    assert later is not None
    assert later.at_s == pytest.approx(NOW_S + 5.1)


def test_a_slow_link_drops_what_it_could_only_send_much_later() -> None:
    one = fate(PacketFault(bytes_per_s=10_000))
    fates = [one.of(1000, NOW_S) for _ in range(100)]
    kept = [each for each in fates if each is not None]
    assert len(kept) < 15
    assert kept[-1].at_s <= NOW_S + QUEUE_S_MAX + 0.2
    assert fates[-1] is None


@pytest.mark.parametrize("draw", [0.0, 0.3, 0.999])
def test_one_bit_behind_the_header_is_flipped(draw: float) -> None:
    packet = bytes([0x45]) + bytes(39)
    changed = with_a_bit_flipped(packet, draw)
    assert changed[:20] == packet[:20]
    flipped = [one ^ other for one, other in zip(changed, packet, strict=True)]
    assert sum(each.bit_count() for each in flipped) == 1


def test_a_packet_without_a_body_is_left_alone() -> None:
    assert with_a_bit_flipped(b"", 0.5) == b""
    assert with_a_bit_flipped(bytes([0x45]) + bytes(19), 0.5) == bytes([0x45]) + bytes(19)
