"""The wall clock of one simulated host: it may run fast or slow, and jump."""

from __future__ import annotations

from harness.sim.loop import SimLoop

START_MS = 1_750_000_000_000
"""When every run begins: a moment in June 2025."""

_NS_PER_MS = 1_000_000


class SimClock:
    """Belongs to the machine, so it goes on through restarts."""

    def __init__(self, loop: SimLoop, *, offset_ms: float = 0.0) -> None:
        self._loop = loop
        self._rate = 1.0
        self._shown_ms = START_MS + loop.now_ns / _NS_PER_MS + offset_ms
        self._since_ns = loop.now_ns

    def now_ms(self) -> int:
        return int(self._now_ms())

    @property
    def offset_ms(self) -> float:
        """How far it is ahead of true time."""
        return self._now_ms() - (START_MS + self._loop.now_ns / _NS_PER_MS)

    def jump(self, by_ms: float) -> None:
        self._settle()
        self._shown_ms += by_ms

    def run_at(self, rate: float) -> None:
        """1.0 is true time; 1.001 gains a millisecond each second."""
        self._settle()
        self._rate = rate

    def _settle(self) -> None:
        self._shown_ms = self._now_ms()
        self._since_ns = self._loop.now_ns

    def _now_ms(self) -> float:
        return self._shown_ms + (self._loop.now_ns - self._since_ns) * self._rate / _NS_PER_MS
