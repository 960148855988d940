"""Which arrivals bear the marks of a fault, and which do not."""

from __future__ import annotations

import pytest

from harness.cluster.capabilities import PacketFault
from harness.cluster.netns.measured import Arrived, why_not_shown


def arrived(
    sent: int, numbers: list[int], under_way_ms: list[float], every_ms: float = 0.0
) -> Arrived:
    seen = Arrived(sent)
    for turn, (number, ms) in enumerate(zip(numbers, under_way_ms, strict=True)):
        now_s = 50 + turn * every_ms / 1e3
        seen.take(number, now_s - ms / 1e3, now_s)
    return seen


def whole(count: int = 100, ms: float = 0.1) -> Arrived:
    return arrived(count, list(range(count)), [ms] * count)


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        (PacketFault(delay_ms=50), "packets are not delayed"),
        (PacketFault(jitter_ms=10), "every packet takes as long as the others"),
        (PacketFault(loss=0.2), "no packet is lost"),
        (PacketFault(corrupt=0.2), "no packet is corrupt"),
        (PacketFault(duplicate=0.2), "no packet comes twice"),
        (PacketFault(reorder=0.2), "no packet overtakes another"),
        (PacketFault(bytes_per_s=1000), "packets come too fast"),
    ],
)
def test_a_whole_link_shows_no_fault(fault: PacketFault, complaint: str) -> None:
    assert why_not_shown(fault, whole()) == complaint
    assert why_not_shown(PacketFault(), whole()) is None


def test_a_silent_link_shows_nothing_but_the_loss_of_all() -> None:
    assert why_not_shown(PacketFault(delay_ms=5), Arrived(20)) == "nothing arrives any more"
    assert why_not_shown(PacketFault(loss=1.0), Arrived(20)) is None


def test_what_bears_the_marks_is_believed() -> None:
    half = list(range(0, 100, 2))
    assert why_not_shown(PacketFault(loss=0.5), arrived(100, half, [0.1] * 50)) is None
    assert why_not_shown(PacketFault(corrupt=0.5), arrived(100, half, [0.1] * 50)) is None
    twice = sorted([*range(100), *half])
    assert why_not_shown(PacketFault(duplicate=0.5), arrived(100, twice, [0.1] * 150)) is None
    swapped = [number ^ 1 for number in range(100)]
    assert why_not_shown(PacketFault(reorder=0.5), arrived(100, swapped, [0.1] * 100)) is None
    spread = arrived(100, list(range(100)), [40 + number / 5 for number in range(100)])
    assert why_not_shown(PacketFault(delay_ms=50, jitter_ms=10), spread) is None
    slow = arrived(10, list(range(10)), [0.1] * 10, every_ms=100)
    assert why_not_shown(PacketFault(bytes_per_s=10_000), slow) is None


def test_a_share_too_small_for_so_few_packets_need_not_show() -> None:
    assert why_not_shown(PacketFault(loss=0.001), whole()) is None
