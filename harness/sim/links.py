"""The way from one host to another: how long a message takes, and whether it is cut.

A cut loses packets, and TCP sends them again: what a cut holds arrives when the sender's next try
meets a healed link. Links are one-way, so a cut may be, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

NS = 1_000_000_000

FIRST_RETRY_NS = NS // 5
RETRY_GAP_MAX_NS = 4 * NS
"""Linux waits up to two minutes between two tries; no simulated test wants to."""

CONNECT_RETRIES_NS = tuple(seconds * NS for seconds in (1, 3, 7, 15, 31, 63))
CONNECT_TIMEOUT_NS = 127 * NS
"""As Linux does with tcp_syn_retries = 6."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkTimes:
    """A message takes `shortest_ns` and something on top that is exponential with this mean."""

    shortest_ns: int = 100_000
    mean_extra_ns: int = 400_000


LOOPBACK = LinkTimes(shortest_ns=10_000, mean_extra_ns=20_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slowness:
    """What a fault adds to a link. Several may be in force at once."""

    extra_ns: int = 0
    factor: float = 1.0
    bytes_per_s: float | None = None
    jitter_ns: int = 0
    """So much earlier or later than that, at most."""
    late_share: float = 0.0
    """Of all messages: they lose a packet, and arrive when it has been sent again."""
    overtaking_share: float = 0.0
    """Of all messages: they are not delayed, and so overtake those of other connections."""

    def apply(self, delay_ns: float, draw: float) -> float:
        """Further digits of the draw that has decided the delay decide the rest."""
        delay_ns *= self.factor
        if self.overtaking_share and _digits(draw, 1) < self.overtaking_share:
            return delay_ns
        delay_ns += self.extra_ns + self.jitter_ns * (2 * _digits(draw, 2) - 1)
        if self.late_share and _digits(draw, 3) < self.late_share:
            delay_ns += FIRST_RETRY_NS
        return max(delay_ns, 0.0)


def _digits(draw: float, which: int) -> float:
    """Twelve bits of it that the first ones do not decide, as a number in [0, 1)."""
    return int(draw * 2 ** (12 * which + 5)) % 4096 / 4096


class Link:
    def __init__(self, source: str, target: str, times: LinkTimes) -> None:
        self.source = source
        self.target = target
        self.is_loopback = source == target
        self._times = times
        self.messages_held = 0
        """How many of them a cut has kept from arriving in time."""
        self._cuts = 0
        self.is_cut = False
        self._slowness: list[Slowness] = []
        self._free_at_ns = 0
        self._on_heal: list[Callable[[], None]] = []

    def cut(self) -> None:
        """Counted: two overlapping cuts must both be healed."""
        if not self.is_loopback:
            self._cuts += 1
            self.is_cut = True

    def heal(self) -> None:
        if self._cuts > 0:
            self._cuts -= 1
            if self._cuts == 0:
                self.is_cut = False
                waiting, self._on_heal = self._on_heal, []
                for tell in waiting:
                    tell()

    def when_healed(self, tell: Callable[[], None]) -> None:
        self._on_heal.append(tell)

    def slow_down(self, by: Slowness) -> None:
        self._slowness.append(by)

    def speed_up(self, by: Slowness) -> None:
        if by in self._slowness:
            self._slowness.remove(by)

    def arrival_ns(self, now_ns: int, size: int, draw: float) -> int:
        """When a message that leaves now is there; `draw` in [0, 1) decides."""
        times = self._times
        delay_ns = times.shortest_ns - times.mean_extra_ns * math.log1p(-draw)
        if not self._slowness:
            return now_ns + int(delay_ns)
        for each in self._slowness:
            delay_ns = each.apply(delay_ns, draw)
        rates = [each.bytes_per_s for each in self._slowness if each.bytes_per_s is not None]
        if rates:
            self._free_at_ns = max(self._free_at_ns, now_ns) + int(size / min(rates) * NS)
            return self._free_at_ns + int(delay_ns)
        return now_ns + int(delay_ns)


def next_try_ns(lost_ns: int, now_ns: int, draw: float) -> int:
    """The first retransmission at or after `now_ns` of what was lost at `lost_ns`.

    Gaps double from a fifth of a second, give or take a tenth, as `draw` says.
    """
    gap_ns = int(FIRST_RETRY_NS * (0.9 + 0.2 * draw))
    at_ns = lost_ns + gap_ns
    while at_ns < now_ns:
        gap_ns = min(2 * gap_ns, RETRY_GAP_MAX_NS)
        at_ns += gap_ns
    return at_ns
